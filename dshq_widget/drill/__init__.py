"""What a game is: what its author declares, its compiled form, its colours. The games themselves are in drills/."""
