"""PPO with rollouts on a Ray cluster: what it needs, the nodes that play, the source of their samples, the run; the
design is in docs/ray.md. Only `connection.py` imports ray.
"""
