"""One run as the kernel has it: its settings, its start, its processes, what becomes of it and its files."""
