"""What the operating system lends: memory that processes share, child processes and the pipes to them, locks,
priorities, limits, files. Each of `board`, `locks`, `memory`, `priority` and `processes` has two forms with the same
names: `posix` (Linux, macOS) and `portable` (any system, by well-kept libraries). Imports no other room, and no other
room names what only one kind of system has (tests/project/test_system.py).
"""
