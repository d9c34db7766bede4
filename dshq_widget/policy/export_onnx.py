"""Export of a policy as an ONNX model, for other runtimes. Needs the extra `onnx`.

Input `observations` f32 `[batch, n_obs]`; outputs `logits` f32 `[batch, n_actions]` and `value` f32 `[batch]`.
Normalisers are part of the weights already. Operators: Gemm, Tanh or Relu, Split, Squeeze, and for pairs of items and
spaces Reshape, MatMul, Add, ReduceMean, Concat, Unsqueeze, too (ONNX operator set 17).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from dshq_kernels.network.layers import Grid, Pairs
from dshq_widget.files import whole
from dshq_widget.policy.network import Policy

OPERATOR_SET, FORMAT_VERSION = 17, 8
"""From 2022, so that older runtimes can read it."""
OPERATORS = {"tanh": "Tanh", "relu": "Relu"}

Node = tuple[str, list[str], list[str], dict[str, Any]]
"""Operator, the names of its inputs and outputs, and its options."""


def to_onnx(policy: Policy) -> Any:
    """The policy as an `onnx.ModelProto`; raises ImportError if onnx is not installed, ValueError for a network with a
    grid.
    """
    if isinstance(policy.spec.front, Grid):
        raise ValueError("a network with a grid cannot be exported to ONNX: use the .dshq file")
    try:
        import onnx
    except ImportError as error:
        raise ImportError("exporting needs onnx: pip install 'dshq-widget[onnx]'") from error
    helper, spec, f32 = onnx.helper, policy.spec, onnx.TensorProto.FLOAT
    nodes = _nodes(policy)
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in _constants(policy).items()]
    graph = helper.make_graph(
        [helper.make_node(operator, reads, writes, **options) for operator, reads, writes, options in nodes],
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


def _constants(policy: Policy) -> dict[str, np.ndarray]:
    """Constant inputs of the nodes, by name."""
    spec, front = policy.spec, policy.spec.front
    arrays = {"column": np.array([1], np.int64), "sizes": np.array([spec.n_actions, 1], np.int64)}
    if isinstance(front, Pairs):
        of_items, of_spaces = front.items * front.of_item, front.spaces * front.of_space
        whole = {
            "sizes": [front.width, 1],
            "seen": [of_items, of_spaces, spec.layers[0] - front.inputs],
            "items": [-1, front.items, front.of_item],
            "spaces": [-1, front.spaces, front.of_space],
            "pairs": [-1, front.actions],
            "axis": [2],
        }
        arrays |= {name: np.array(numbers, np.int64) for name, numbers in whole.items()}
    for k, (matrix, bias) in enumerate(spec.split(policy.weights)):
        arrays |= {f"weight_{k}": np.ascontiguousarray(matrix), f"bias_{k}": np.ascontiguousarray(bias)}
    return arrays


def _nodes(policy: Policy) -> list[Node]:
    """The network's operators from `observations` to `logits` and `value`."""
    spec, front = policy.spec, policy.spec.front
    nodes: list[Node] = []
    x, first, count = "observations", 0, len(spec.split(policy.weights))
    if isinstance(front, Pairs):
        nodes.append(("Split", ["observations", "seen"], ["of_items", "of_spaces", "others"], {"axis": 1}))
        for k, kind in enumerate(("items", "spaces")):
            nodes += [
                ("Reshape", [f"of_{kind}", kind], [f"seen_{kind}"], {}),
                *_dense(f"seen_{kind}", k, f"sums_{kind}"),
                ("Relu", [f"sums_{kind}"], [f"traits_{kind}"], {}),
                ("ReduceMean", [f"traits_{kind}"], [f"mean_{kind}"], {"axes": [1], "keepdims": 0}),
                *_dense(f"traits_{kind}", k + 2, f"parts_{kind}"),
            ]
        nodes.append(("Concat", ["mean_items", "mean_spaces", "others"], ["features"], {"axis": 1}))
        x, first = "features", len(front.shapes)
    for k in range(first, count):
        out = "output" if k == count - 1 else f"sum_{k}"
        nodes.append(("Gemm", [x, f"weight_{k}", f"bias_{k}"], [out], {}))
        if k < count - 1:
            x = f"hidden_{k}"
            nodes.append((OPERATORS[spec.activation], [out], [x], {}))
    said = "context" if front else "logits"
    nodes.append(("Split", ["output", "sizes"], [said, "value_column"], {"axis": 1}))
    nodes.append(("Squeeze", ["value_column", "column"], ["value"], {}))
    if front:
        nodes += [
            ("Unsqueeze", ["context", "column"], ["context_of_each"], {}),
            ("Add", ["parts_spaces", "context_of_each"], ["with_context"], {}),
            ("Unsqueeze", ["with_context", "column"], ["row"], {}),
            ("Unsqueeze", ["parts_items", "axis"], ["rows"], {}),
            ("Add", ["rows", "row"], ["pair_sums"], {}),
            ("Relu", ["pair_sums"], ["pair_hidden"], {}),
            *_dense("pair_hidden", 4, "pair_logits"),
            ("Reshape", ["pair_logits", "pairs"], ["logits"], {}),
        ]
    return nodes


def _dense(x: str, k: int, out: str) -> list[Node]:
    """Layer k of the last axis of `x`; Gemm takes matrices only."""
    return [
        ("MatMul", [x, f"weight_{k}"], [f"product_{out}"], {}),
        ("Add", [f"product_{out}", f"bias_{k}"], [out], {}),
    ]


def save_onnx(policy: Policy, path: str | os.PathLike[str]) -> Path:
    """Write the model to `path` and return its absolute path; raises ImportError as `to_onnx` does, or OSError."""
    return whole.write(path, to_onnx(policy).SerializeToString())
