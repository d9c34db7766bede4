"""What a run keeps in its file, and whether somebody can continue from it."""
