"""Stored frames: packing, and the replay ring that an actor fills and a learner reads."""
