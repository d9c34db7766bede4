"""Places in modules, written "module:name", so that a list names code that is imported only where it is used."""

from __future__ import annotations

import importlib
from typing import Any


def found_at(place: str) -> Any:
    """What is at "module:name"; its module is imported now."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
