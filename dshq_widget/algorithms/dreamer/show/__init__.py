"""What the page shows: a match played by this policy, and what the world model dreams. Runs in a process of its own."""
