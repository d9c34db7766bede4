"""Vectors of 16 lanes, elementary functions, the matrix multiplication kernel, atomic words."""
