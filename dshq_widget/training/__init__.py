"""The kernel's side of training: what a person calls, one run at a time, its status and its files."""
