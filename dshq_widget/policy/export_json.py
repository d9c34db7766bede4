"""Export of a small policy as JSON, for programs that have neither ONNX nor numpy. docs/howto/export.md has a reader.

Keys: `format` ("dshq-policy-json-1"), what the policy is of (`drill`, `rules_hash`, `version`, `step`), `activation`
(tanh or relu, after every layer but the last), `layers`: a list of `{"weights": [n_in][n_out], "bias": [n_out]}`, the
last of which gives the logit of each action and then the value; `observations` and `actions`, where the drill is known:
`name`, `scale` and `unit` of each observation in order, the network's input being what the rules write (already divided
by the scale), and `name` and `options` of each choice, the last choice changing fastest over the action's index. Every
weight is written with the digits that give the same float32 back. Normalisers are part of the weights.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from dshq_widget.contract.finite import for_json
from dshq_widget.contract.game_spec import to_plain
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.files import atomic
from dshq_widget.policy.export_onnx import ExportError, built_in, check
from dshq_widget.policy.gym_policy import GymPolicy
from dshq_widget.policy.policy import Policy

FORMAT = "dshq-policy-json-1"
MOST_WEIGHTS = 200_000
"""Of the network: about 2 MB of text."""


def to_json(policy: Policy, drill: CompiledDrill | None = None) -> dict[str, Any]:
    """The policy as plain JSON values. `drill` is what it plays, where that is not a drill of the package.

    Raises ExportError for what is more than dense layers, is large, or does not fit the drill.
    """
    drill = drill or built_in(policy)
    check(policy, drill, "JSON")
    spec = policy.spec
    if isinstance(policy, GymPolicy):
        raise ExportError(
            "a policy of a Gymnasium environment cannot be written as JSON: export it with --onnx instead"
        )
    if spec.front is not None:
        raise ExportError(
            f"the network has a layer {type(spec.front).__name__} in front, and JSON has dense layers only: export it "
            "with --onnx instead"
        )
    if spec.floats > MOST_WEIGHTS:
        raise ExportError(
            f"the network has {spec.floats:,} weights, and JSON is for at most {MOST_WEIGHTS:,}: export it with --onnx "
            "instead"
        )
    said: dict[str, Any] = {"format": FORMAT}
    said |= {key: policy.metadata[key] for key in ("drill", "rules_hash", "version", "step") if key in policy.metadata}
    said["activation"] = spec.activation
    if drill:
        named = to_plain(drill.spec.observations)
        said["observations"] = [{key: row[key] for key in ("name", "scale", "unit")} for row in named]
        said["actions"] = to_plain(drill.spec.actions)
        said["masked"] = drill.spec.masked
    parts = spec.split(policy.weights)
    said["layers"] = [{"weights": _short(matrix), "bias": _short(bias)} for matrix, bias in parts]
    return said


def save_json(policy: Policy, path: str | os.PathLike[str], drill: CompiledDrill | None = None) -> Path:
    """Write it to `path` and return its absolute path. The path holds the old file or the whole new one. Raises
    ExportError as `to_json` does, or OSError.
    """
    return atomic.write(path, (json.dumps(to_json(policy, drill), default=for_json) + "\n").encode())


def _short(array: np.ndarray) -> list[Any]:
    """Nested lists of the shortest decimals that round to the same float32."""
    return [_short(row) if row.ndim else float(str(row)) for row in array]
