"""What the page shows: a match that this policy plays, and what the world model dreams. Runs in a process of its own."""
