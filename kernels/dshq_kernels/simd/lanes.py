"""The number of lanes in a vector; apart from vector.py so that importing it does not import numba."""

LANES = 16
"""Games in a record tile, samples in a unit, floats in a vector. Generated source has the number as text."""
