"""Training on one torch device except for the loss: games, networks, rollouts, CUDA graphs, and asynchronous downloads
of results.
"""
