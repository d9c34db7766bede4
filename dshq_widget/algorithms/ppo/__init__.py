"""Proximal policy optimisation: runs on drills and on Gymnasium environments, and where their samples come from."""
