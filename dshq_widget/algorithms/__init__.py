"""One folder per algorithm: its losses, its learners, and its runs, each readable from top to bottom."""
