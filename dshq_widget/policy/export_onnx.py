"""Export of a policy as an ONNX model, for other runtimes. Needs the extra `onnx`.

Input `observation` as the policy reads it (layout.py): f32 `[batch, n_obs]`, u8 `[batch, channels, height, width]`, or
a row f32 of pictures and numbers. Outputs, by the kind of actions (docs/howto/export.md):

- choices: `logits` f32 `[batch, n_actions]` and the likeliest `action`, i64;
- a box, gaussian: `action_mean`, `action_deviation` f32 `[batch, k]` before clipping, and the mean `action` as the
  environment takes it, clipped and stretched over its bounds;
- a box, beta: `action_alpha`, `action_beta` f32 `[batch, k]`, and the mean `action` the same way;
- always `value` f32 `[batch]`.

The policy of a drill with a mask, or of an unknown drill, has a second input that may be left out, `action_mask` bool
`[batch, n_actions]`: what it forbids has the logit FORBIDDEN. Normalisers are part of the weights. The model's metadata
says all of this.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from dshq_kernels.network.mlp import FORBIDDEN
from dshq_widget import drills
from dshq_widget.contract.game_spec import to_plain
from dshq_widget.drill.compiled import CompiledDrill, compile_drill
from dshq_widget.files import atomic
from dshq_widget.policy import onnx_graph
from dshq_widget.policy.action_spaces import DISTRIBUTIONS, Actions
from dshq_widget.policy.gym_policy import GymPolicy
from dshq_widget.policy.onnx_graph import Graph
from dshq_widget.policy.policy import Policy

OPERATOR_SET, FORMAT_VERSION = 17, 8
"""From 2022, so that older runtimes can read it."""


class ExportError(ValueError):
    """A policy that cannot be written as ONNX or JSON. The message says why."""


def to_onnx(policy: Policy, drill: CompiledDrill | None = None) -> Any:
    """The policy as an `onnx.ModelProto`. `drill` is what it plays, where that is not a drill of the package.

    Raises ImportError if onnx is not installed, and ExportError for a policy that cannot be written.
    """
    drill = drill or built_in(policy)
    check(policy, drill)
    try:
        import onnx
    except ImportError as error:
        raise ImportError("exporting needs onnx: pip install 'dshq-widget[onnx]'") from error
    helper, graph = onnx.helper, Graph()
    actions = actions_of(policy)
    outputs, _ = onnx_graph.network(graph, policy)
    inputs = [_info(onnx, "observation", *_reads(policy))]
    if actions.kind == "box":
        kind = onnx_graph.gaussian if _distribution(policy) == "gaussian" else onnx_graph.beta
        kind(graph, outputs, actions)
    else:
        if _masks(policy, drill):
            inputs.append(_info(onnx, "action_mask", "BOOL", ["masks", policy.spec.n_actions]))
            everything = graph.constant(np.ones((1, policy.spec.n_actions)), np.bool_, "action_mask")
            outputs = graph.add("Where", everything, outputs, graph.constant(FORBIDDEN, np.float32))
        graph.add("Identity", outputs, out="logits")
        onnx_graph.choices(graph, outputs, actions)
    said = [_info(onnx, name, *of) for name, of in outputs_of(policy).items()]
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in graph.constants.items()]
    model = helper.make_model(
        helper.make_graph(_nodes(onnx, graph), "policy", inputs, said, constants),
        producer_name="dshq-widget",
        opset_imports=[helper.make_opsetid("", OPERATOR_SET)],
        ir_version=FORMAT_VERSION,
    )
    helper.set_model_props(model, metadata(policy, drill))
    onnx.checker.check_model(model, full_check=True)
    return model


def save_onnx(policy: Policy, path: str | os.PathLike[str], drill: CompiledDrill | None = None) -> Path:
    """Write the model to `path` and return its absolute path. The path holds the old file or the whole new one.

    Raises ImportError and ExportError as `to_onnx` does, or OSError.
    """
    return atomic.write(path, to_onnx(policy, drill).SerializeToString())


def actions_of(policy: Policy) -> Actions:
    """The actions of a policy; those of a drill are one choice."""
    return policy.actions if isinstance(policy, GymPolicy) else Actions("choice", (policy.spec.n_actions,))


def outputs_of(policy: Policy) -> dict[str, tuple[str, list[Any]]]:
    """The model's outputs by name, in order: type and shape."""
    actions, value = actions_of(policy), {"value": ("FLOAT", ["batch"])}
    if actions.kind == "box":
        names = ("action_mean", "action_deviation")
        names = names if _distribution(policy) == "gaussian" else ("action_alpha", "action_beta")
        parameters = {name: ("FLOAT", ["batch", len(actions.low)]) for name in names}
        return {**parameters, "action": ("FLOAT", ["batch", *actions.shape]), **value}
    action = ("INT64", ["batch", *actions.shape])
    return {"logits": ("FLOAT", ["batch", policy.spec.n_actions]), "action": action, **value}


def metadata(policy: Policy, drill: CompiledDrill | None = None) -> dict[str, str]:
    """What the model says about itself; everything but sentences and names is JSON."""
    known = policy.metadata
    said: dict[str, str] = {key: str(known[key]) for key in ("drill", "rules_hash", "version", "step") if key in known}
    actions = actions_of(policy)
    said["outputs"] = json.dumps(list(outputs_of(policy)))
    normalised = bool(known.get("config", {}).get("normalize_observations"))
    said["normalization"] = (
        "of observations, part of the weights: give observations as they are" if normalised else "none"
    )
    if isinstance(policy, GymPolicy):
        environment = policy.environment
        said["environment"] = str(environment.get("id", ""))
        said["wrappers"] = json.dumps(environment.get("wrappers", []))
        layout = policy.spec.layout
        if layout.alone:
            said["normalization"] = "pixels are divided by 255 in the model: give uint8"
        elif layout.pictures:
            said["normalization"] = "pixels are divided by 255 in the model, and numbers' normalisation is part of it"
            said["layout"] = json.dumps({"pictures": layout.pictures, "numbers": layout.numbers})
    if actions.kind == "box":
        said["distribution"] = _distribution(policy)
        written = actions.to_json()
        said["action_low"], said["action_high"] = json.dumps(written["low"]), json.dumps(written["high"])
        drawn = "drawn on 0..1" if _distribution(policy) == "beta" else "drawn without bounds, clipped to -1..1"
        said["action_scaling"] = (
            f"{drawn}, stretched over action_low..action_high; a number without both bounds is taken as drawn, inside "
            "the bound that it has. `action` is the mean after this; the distribution's parameters are before it"
        )
        return said
    said["distribution"] = "softmax of the logits of each choice"
    said["choice_sizes"], said["action_start"] = json.dumps(list(actions.sizes)), str(actions.start)
    if _masks(policy, drill):
        said["action_mask"] = f"optional input, true for what is allowed; forbidden logits are {FORBIDDEN:g}"
    if drill:
        said["action_names"] = json.dumps(to_plain(drill.spec.actions))
        said["action_order"] = "index over the options of all choices, the last choice changes fastest"
        said["observation_names"] = json.dumps([one.name for one in drill.spec.observations])
    return said


def check(policy: Policy, drill: CompiledDrill | None, format: str = "ONNX") -> None:
    """Raises ExportError for what would be written wrongly in this format."""
    if policy.spec.memory:
        raise ExportError(f"a network with a memory cannot be written as {format} so far: keep the .dshq file")
    if type(policy) not in (Policy, GymPolicy):
        raise ExportError(
            f"a {type(policy).__name__} cannot be written as {format}: only policies as load_policy() makes them can; "
            "keep the .dshq file"
        )
    actions = actions_of(policy)
    if actions.kind == "box" and _distribution(policy) not in DISTRIBUTIONS:
        raise ExportError(
            f"actions drawn from {_distribution(policy)!r} cannot be written as {format}: expected one of "
            f"{', '.join(DISTRIBUTIONS)}"
        )
    if actions.outputs != policy.spec.n_actions:
        raise ExportError(
            f"the network has {policy.spec.n_actions} outputs but its actions need {actions.outputs}: "
            "the policy is not of this environment"
        )
    plays = (policy.spec.layers[0], policy.spec.n_actions)
    if drill and plays != (wanted := (drill.spec.n_obs, drill.spec.n_actions)):
        raise ExportError(
            f"the policy reads {plays[0]} observations and has {plays[1]} actions, but {drill.name!r} has {wanted[0]} "
            f"and {wanted[1]}: name the drill that it was trained on"
        )
    if not np.isfinite(policy.weights).all():
        raise ExportError("the policy has weights that are not finite, so no runtime could play it: train it again")


def _masks(policy: Policy, drill: CompiledDrill | None) -> bool:
    """Whether the model takes a mask: unless what it plays is known to have none."""
    return not isinstance(policy, GymPolicy) and (drill is None or bool(drill.spec.masked))


def _distribution(policy: Policy) -> str:
    return policy.distribution if isinstance(policy, GymPolicy) else "softmax"


def built_in(policy: Policy) -> CompiledDrill | None:
    """The package's drill that a policy was trained on, if its rules are still those."""
    drill = drills.drills.get(policy.metadata.get("drill", ""))
    compiled = compile_drill(drill) if drill else None  # type: ignore[arg-type]  # mypy doubts that classes can be hashed
    return compiled if compiled and compiled.rules_hash == policy.metadata.get("rules_hash") else None


def _reads(policy: Policy) -> tuple[str, list[Any]]:
    """Type and shape of `observation`."""
    layout = policy.spec.layout
    return ("UINT8" if layout.alone else "FLOAT"), ["batch", *layout.shape]


def _info(onnx: Any, name: str, kind: str, shape: list[Any]) -> Any:
    return onnx.helper.make_tensor_value_info(name, getattr(onnx.TensorProto, kind), shape)


def _nodes(onnx: Any, graph: Graph) -> list[Any]:
    made = []
    for operator, reads, writes, options in graph.nodes:
        ready = {key: _body(onnx, value) if isinstance(value, Graph) else value for key, value in options.items()}
        made.append(onnx.helper.make_node(operator, reads, writes, **ready))
    return made


def _body(onnx: Any, graph: Graph) -> Any:
    """The body of a loop: its count, whether it continues, and one value f32 of three axes."""
    count, going, value = graph.inputs
    inputs = [_info(onnx, count, "INT64", []), _info(onnx, going, "BOOL", []), _info(onnx, value, "FLOAT", [None] * 3)]
    outputs = [_info(onnx, graph.outputs[0], "BOOL", []), _info(onnx, graph.outputs[1], "FLOAT", [None] * 3)]
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in graph.constants.items()]
    return onnx.helper.make_graph(_nodes(onnx, graph), "sweep", inputs, outputs, constants)
