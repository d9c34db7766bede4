"""Gymnasium's environments as something to train on and to watch."""
