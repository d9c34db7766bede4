"""Processes and shared memory: blocks, weight slots, rings, child processes and the machine's limits. Independent of
games and learning. Importing this package imports nothing else: `slots` and `ring` need numba, the rest only the
standard library, numpy and psutil.
"""
