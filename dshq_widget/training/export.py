"""A policy as an ONNX model, for runtimes that know nothing of this project. Needs the extra `onnx`.

Input `observations` f32 `[batch, n_obs]`; outputs `logits` f32 `[batch, n_actions]` and `value` f32 `[batch]`.
Normalisers are part of the weights already. Operators: Gemm, Tanh or Relu, Split, Squeeze (ONNX operator set 17).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dshq_widget.policy import Policy

OPERATOR_SET, FORMAT_VERSION = 17, 8
"""Of 2022, so that older runtimes read it, too."""
OPERATORS = {"tanh": "Tanh", "relu": "Relu"}


def to_onnx(policy: Policy) -> Any:
    """The policy as an `onnx.ModelProto`; raises ImportError with advice where onnx is not installed, ValueError for a
    network with a grid.
    """
    if policy.spec.grid:
        raise ValueError("a network that looks ahead on a grid has no form in ONNX's operators: keep the .dshq file")
    try:
        import onnx
    except ImportError as error:
        raise ImportError("exporting needs the onnx package: pip install dshq-widget[onnx]") from error
    helper, spec, f32 = onnx.helper, policy.spec, onnx.TensorProto.FLOAT
    nodes, constants, x = [], [], "observations"
    parts = spec.split(policy.weights)
    for k, (matrix, bias) in enumerate(parts):
        last = k == len(parts) - 1
        constants.append(onnx.numpy_helper.from_array(np.ascontiguousarray(matrix), f"weight_{k}"))
        constants.append(onnx.numpy_helper.from_array(np.ascontiguousarray(bias), f"bias_{k}"))
        out = "output" if last else f"sum_{k}"
        nodes.append(helper.make_node("Gemm", [x, f"weight_{k}", f"bias_{k}"], [out]))
        if not last:
            x = f"hidden_{k}"
            nodes.append(helper.make_node(OPERATORS[spec.activation], [out], [x]))
    constants.append(onnx.numpy_helper.from_array(np.array([spec.n_actions, 1], np.int64), "sizes"))
    constants.append(onnx.numpy_helper.from_array(np.array([1], np.int64), "column"))
    nodes.append(helper.make_node("Split", ["output", "sizes"], ["logits", "value_column"], axis=1))
    nodes.append(helper.make_node("Squeeze", ["value_column", "column"], ["value"]))
    graph = helper.make_graph(
        nodes,
        "policy",
        [helper.make_tensor_value_info("observations", f32, ["batch", spec.layers[0]])],
        [
            helper.make_tensor_value_info("logits", f32, ["batch", spec.n_actions]),
            helper.make_tensor_value_info("value", f32, ["batch"]),
        ],
        constants,
    )
    model = helper.make_model(
        graph,
        producer_name="dshq-widget",
        opset_imports=[helper.make_opsetid("", OPERATOR_SET)],
        ir_version=FORMAT_VERSION,
    )
    kept = ("drill", "rules_hash", "version", "step")
    helper.set_model_props(model, {key: str(policy.metadata[key]) for key in kept if key in policy.metadata})
    onnx.checker.check_model(model, full_check=True)
    return model


def save_onnx(policy: Policy, path: str | os.PathLike[str]) -> Path:
    """Write the model to `path` and return its absolute path; raises ImportError as `to_onnx` does, or OSError."""
    content = to_onnx(policy).SerializeToString()
    target = Path(os.path.abspath(os.path.expanduser(path)))
    target.write_bytes(content)
    return target
