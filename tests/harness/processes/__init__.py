"""Kernels and learners in processes of their own, and what breaks them."""
