"""The kernel's side of training: the Trainer, control of one run at a time, its status and its files."""
