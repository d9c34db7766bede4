"""The definition of a game: its declaration, its compiled form, its colours. The games themselves are in drills/."""
