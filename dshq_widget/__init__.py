"""A live, learning match in a notebook cell. Each name loads its module at first use, so the import is fast."""

from __future__ import annotations

import dshq_kernels  # noqa: F401  # before any module here imports numba: see simd/numba_settings.py there
from dshq_widget.contract.version import __version__
from dshq_widget.runtime.torch_code import keep_in_own_folder

keep_in_own_folder()
TYPE_CHECKING = False
"""As type checkers know it: `typing` itself takes longer than all else here, and the command hears no Ctrl-C before."""

if TYPE_CHECKING:
    from typing import Any

    from dshq_widget import drills
    from dshq_widget.contract.setting import ConfigError
    from dshq_widget.contract.settings import TrainConfig
    from dshq_widget.drill.compiled import CompiledDrill, compile_drill
    from dshq_widget.drill.declaration import (
        Cells,
        Choice,
        Drill,
        Grid,
        Handle,
        Observation,
        Pairs,
        RulesError,
        rule,
    )
    from dshq_widget.env.debugging import debug
    from dshq_widget.env.making import make, make_parallel, make_vec
    from dshq_widget.env.registration import register_environments
    from dshq_widget.learning.telemetry.metrics_file import read_metrics
    from dshq_widget.policy.checkpoint import CheckpointError
    from dshq_widget.policy.export_json import save_json
    from dshq_widget.policy.export_onnx import ExportError, save_onnx
    from dshq_widget.policy.loading import load_policy
    from dshq_widget.policy.policy import Policy
    from dshq_widget.policy.saving import save_policy
    from dshq_widget.training.evaluation import evaluate
    from dshq_widget.training.sweep import sweep
    from dshq_widget.training.trainer import Trainer
    from dshq_widget.widget.drill_widget import DrillWidget

__all__ = [
    "Cells",
    "CheckpointError",
    "Choice",
    "CompiledDrill",
    "ConfigError",
    "Drill",
    "DrillWidget",
    "ExportError",
    "Grid",
    "Handle",
    "Observation",
    "Pairs",
    "Policy",
    "RulesError",
    "TrainConfig",
    "Trainer",
    "__version__",
    "compile_drill",
    "debug",
    "drills",
    "evaluate",
    "load_policy",
    "make",
    "make_parallel",
    "make_vec",
    "read_metrics",
    "register_environments",
    "rule",
    "save_json",
    "save_onnx",
    "save_policy",
    "sweep",
]

_HOMES = {
    "Cells": "drill.declaration",
    "CheckpointError": "policy.checkpoint",
    "Choice": "drill.declaration",
    "CompiledDrill": "drill.compiled",
    "ConfigError": "contract.settings",
    "Drill": "drill.declaration",
    "DrillWidget": "widget.drill_widget",
    "ExportError": "policy.export_onnx",
    "Grid": "drill.declaration",
    "Handle": "drill.declaration",
    "Observation": "drill.declaration",
    "Pairs": "drill.declaration",
    "RulesError": "drill.declaration",
    "TrainConfig": "contract.settings",
    "Trainer": "training.trainer",
    "compile_drill": "drill.compiled",
    "debug": "env.debugging",
    "evaluate": "training.evaluation",
    "load_policy": "policy.loading",
    "save_policy": "policy.saving",
    "Policy": "policy.policy",
    "make": "env.making",
    "make_parallel": "env.making",
    "make_vec": "env.making",
    "read_metrics": "learning.telemetry.metrics_file",
    "register_environments": "env.registration",
    "rule": "drill.declaration",
    "save_json": "policy.export_json",
    "save_onnx": "policy.export_onnx",
    "sweep": "training.sweep",
}


def __getattr__(name: str) -> Any:
    """Load the module behind a public name (PEP 562)."""
    import importlib

    if name == "drills":
        return importlib.import_module("dshq_widget.drills")
    if name not in _HOMES:
        raise AttributeError(f"module 'dshq_widget' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(f"dshq_widget.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
