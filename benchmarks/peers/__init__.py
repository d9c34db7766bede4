"""Ours beside other people's libraries: one file for each library, run by that library's own interpreter, and what
compares them. `python -m benchmarks.peers` runs it. Nothing of it is imported by the package.
"""
