"""Which form of this room is in use: chosen once, when a process first imports it, and the same in its children."""

import importlib.util
import os

VARIABLE = "DSHQ_PORTABLE"
"""The environment variable: 1 takes the portable form on any system."""


def _is_posix() -> bool:
    """Whether this system has what the POSIX form is made of."""
    return hasattr(os, "fork") and all(importlib.util.find_spec(name) for name in ("fcntl", "resource"))


PORTABLE = os.environ.get(VARIABLE) == "1" or not _is_posix()
