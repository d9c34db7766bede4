"""Gymnasium's environments as something to train and to watch."""
