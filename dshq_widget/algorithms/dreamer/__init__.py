"""DreamerV3 on two-bit frames: a world model learned from replay, and a policy learned in its imagination."""
