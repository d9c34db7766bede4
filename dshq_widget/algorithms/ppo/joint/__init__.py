"""PPO in several processes that torchrun starts: one network, and games of its own for each process.

Rank 0 leads: it has the run, judges, publishes and saves (run.py). The others play and learn as it orders (follow.py).
What they compute together is in learners/joint.py.
"""
