"""What a run keeps in its file, and whether somebody can go on from it."""
