"""Gymnasium environments: to train on and to watch."""
