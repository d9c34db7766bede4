"""Processes and the memory between them: blocks, weight slots, rings, children and what the machine can afford.

Knows nothing of games or learning. Importing this package imports nothing else: `slots` and `ring` need numba, the
rest only the standard library and numpy.
"""
