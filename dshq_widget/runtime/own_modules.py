"""Modules of the user's own, which are not installed."""

import importlib
import sys
from typing import Any


def look_in(folder: str) -> None:
    """Find modules in `folder`, too: last, so that none there hides an installed one."""
    if folder not in sys.path:
        sys.path.append(folder)


def found_in(name: str, folder: str) -> Any:
    """What is at `name`, "module:NAME", whose module may lie in `folder`: it is imported now. A person has named it,
    never a file.
    """
    look_in(folder)
    module, _, inside = name.partition(":")
    return getattr(importlib.import_module(module), inside)
