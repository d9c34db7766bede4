"""Frames as they are remembered: packing, the replay ring that an actor fills and a learner reads."""
