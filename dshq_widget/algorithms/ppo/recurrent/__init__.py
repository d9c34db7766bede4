"""PPO in torch for networks with a memory, on Gymnasium's environments: their sequences and their learner.

On drills the kernels play and learn such networks, as all others. Details 32 to 36 of Huang et al., "The 37
Implementation Details of PPO", 2022, are in docs/explain/ppo.md.
"""
