"""Dreamer's networks: the world model, and the behaviour learned in its imagination. Here are the formulas."""
