"""Kernels of DrillSergeantHQ: the rules compiler and its back ends, the generator, and the network on 16-lane tiles.

Needs numpy and numba only, and knows nothing of torch, processes or notebooks.
"""
