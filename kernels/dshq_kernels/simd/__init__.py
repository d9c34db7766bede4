"""Vectors of 16 lanes, elementary functions on them, the one multiplying kernel, atomic words."""
