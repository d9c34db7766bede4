"""Training on one torch device except for the loss: games, networks and rollouts. What a device has of its own is a
folder, listed in device.py.
"""
