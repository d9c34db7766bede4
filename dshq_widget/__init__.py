"""A live, learning match in a notebook cell. Each name loads its module at first use, so the import is quick."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dshq_widget.version import __version__

if TYPE_CHECKING:
    from dshq_widget import drills
    from dshq_widget.drill import Choice, Drill, Handle, Observation, rule
    from dshq_widget.env import make, make_parallel, make_vec
    from dshq_widget.training.checkpoint import CheckpointError, load_policy
    from dshq_widget.training.trainer import Trainer
    from dshq_widget.widget import DrillWidget

__all__ = [
    "CheckpointError",
    "Choice",
    "Drill",
    "DrillWidget",
    "Handle",
    "Observation",
    "Trainer",
    "__version__",
    "drills",
    "load_policy",
    "make",
    "make_parallel",
    "make_vec",
    "rule",
]

_HOMES = {
    "CheckpointError": "training.checkpoint",
    "Choice": "drill",
    "Drill": "drill",
    "DrillWidget": "widget",
    "Handle": "drill",
    "Observation": "drill",
    "Trainer": "training.trainer",
    "load_policy": "training.checkpoint",
    "make": "env",
    "make_parallel": "env",
    "make_vec": "env",
    "rule": "drill",
}


def __getattr__(name: str) -> Any:
    """Load the module behind a public name (PEP 562)."""
    if name == "drills":
        return importlib.import_module("dshq_widget.drills")
    if name not in _HOMES:
        raise AttributeError(f"module 'dshq_widget' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(f"dshq_widget.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
