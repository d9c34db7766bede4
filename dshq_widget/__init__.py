"""A live, learning match in a notebook cell. Each name loads its module at first use, so the import is fast."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dshq_widget.contract.version import __version__

if TYPE_CHECKING:
    from dshq_widget import drills
    from dshq_widget.drill.declaration import Choice, Drill, Handle, Observation, rule
    from dshq_widget.env.making import make, make_parallel, make_vec
    from dshq_widget.policy.checkpoint import CheckpointError, load_policy
    from dshq_widget.training.trainer import Trainer
    from dshq_widget.widget.drill_widget import DrillWidget

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
    "CheckpointError": "policy.checkpoint",
    "Choice": "drill.declaration",
    "Drill": "drill.declaration",
    "DrillWidget": "widget.drill_widget",
    "Handle": "drill.declaration",
    "Observation": "drill.declaration",
    "Trainer": "training.trainer",
    "load_policy": "policy.checkpoint",
    "make": "env.making",
    "make_parallel": "env.making",
    "make_vec": "env.making",
    "rule": "drill.declaration",
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
