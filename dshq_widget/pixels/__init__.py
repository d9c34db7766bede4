"""Frames as they are remembered: four pixels to a byte, in a ring that an actor writes and a learner reads."""
