"""Modules of the user's own, which are not installed."""

import sys


def look_in(folder: str) -> None:
    """Find modules in `folder`, too: last, so that none there hides an installed one."""
    if folder not in sys.path:
        sys.path.append(folder)
