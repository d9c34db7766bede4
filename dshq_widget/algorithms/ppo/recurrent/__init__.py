"""PPO for networks with a memory, on drills of one side: its samples, games, learner and run.

The rules run as compiled code, the network in numpy while it plays and in torch while it learns. `dshq_kernels` plays
and learns networks without a memory, and nothing here is in their way. Details 32 to 36 of Huang et al., "The 37
Implementation Details of PPO", 2022, are in docs/ppo.md.
"""
