"""Everything of training but the network and its loss, on one torch device: games, rollouts, CUDA graphs, and how
results leave without anybody waiting.
"""
