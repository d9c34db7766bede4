"""What a run draws and computes besides games and gradients, once for Python and for the page (play/exported.py)."""
