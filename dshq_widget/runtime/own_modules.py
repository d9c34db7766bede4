"""Modules of the user's own, which are not installed, and how others' libraries are kept from the working folder."""

import contextlib
import importlib
import os
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


def elsewhere() -> contextlib.AbstractContextManager[None]:
    """For as long as it lasts, the working folder is one where nobody but the system writes: for a library that looks
    there for settings, or tells others to import from there.
    """
    return contextlib.chdir(os.path.abspath(os.sep))
