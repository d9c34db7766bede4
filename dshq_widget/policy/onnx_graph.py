"""A policy's network as operators of ONNX (operator set 17): nodes and their constants, as plain data.

`observation` as the policy reads it (layout.py) goes in. Every kind of network that `Policy.forward`
computes is written: dense layers, a grid, pairs of items and spaces, places, and convolutions in front.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dshq_kernels.network.layers import OUTSIDE, Grid, Pairs, Places, sweep
from dshq_widget.policy import convolutions
from dshq_widget.policy.action_spaces import EDGE, FIRST_LOG_DEVIATION, LOG_DEVIATIONS, Actions
from dshq_widget.policy.policy import Policy

OPERATORS = {"tanh": "Tanh", "relu": "Relu"}

Node = tuple[str, list[str], list[str], dict[str, Any]]
"""Operator, the names of its inputs and outputs, and its options; a `Graph` among them is a loop's body."""


class Graph:
    """Nodes in order and the constants that they read. Every method returns the name of what it adds."""

    def __init__(self, prefix: str = "", inputs: tuple[str, ...] = ()):
        self.nodes: list[Node] = []
        self.constants: dict[str, np.ndarray] = {}
        self.prefix, self.inputs = prefix, inputs
        self.outputs: list[str] = []

    def constant(self, value: Any, dtype: Any = np.int64, name: str = "") -> str:
        """An array, named after its place if it has no name."""
        name = name or f"{self.prefix}constant_{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(value, dtype) if np.ndim(value) else np.array(value, dtype)
        return name

    def add(self, operator: str, *reads: str, out: str = "", **options: Any) -> str:
        """One node of one output."""
        out = out or f"{self.prefix}{operator.lower()}_{len(self.nodes)}"
        self.nodes.append((operator, list(reads), [out], options))
        return out

    def cut(self, x: str, sizes: list[int], axis: int = 1) -> list[str]:
        """Parts of `x` of these sizes along an axis."""
        if len(sizes) == 1:
            return [x]
        outs = [f"{self.prefix}part_{len(self.nodes)}_{k}" for k in range(len(sizes))]
        self.nodes.append(("Split", [x, self.constant(sizes)], outs, {"axis": axis}))
        return outs

    def reshape(self, x: str, shape: list[int], out: str = "") -> str:
        """`x` in another shape; -1 stands for the batch."""
        return self.add("Reshape", x, self.constant(shape), out=out)


def network(graph: Graph, policy: Policy) -> tuple[str, str]:
    """The network from `observation` to its outputs `[batch, n_actions]` and the value `[batch]`."""
    spec, front = policy.spec, policy.spec.front
    x = convolved(graph, policy) if spec.pictures else "observation"
    seen, first = x, 0
    parts = [
        (graph.constant(matrix, np.float32, f"weight_{k}"), graph.constant(bias, np.float32, f"bias_{k}"))
        for k, (matrix, bias) in enumerate(dense_parts(policy))
    ]
    pieces, pulled = ("", ""), ""
    if isinstance(front, Grid):
        x, first = looked_ahead(graph, front, parts[0], seen, spec.layers[0]), 1
    elif isinstance(front, Pairs):
        x, pieces = traits(graph, front, parts, seen, spec.layers[0])
        first = len(front.shapes)
    elif isinstance(front, Places):
        x, pulled = placed(graph, front, parts, seen, spec.layers[0])
        first = len(front.shapes)
    for matrix, bias in parts[first:-1]:
        x = graph.add(OPERATORS[spec.activation], graph.add("Gemm", x, matrix, bias))
    x = graph.add("Gemm", x, *parts[-1])
    said = front.said if isinstance(front, Pairs | Places) else spec.n_actions
    outputs, value = graph.cut(x, [said, 1])
    if isinstance(front, Pairs):
        outputs = judged(graph, front, parts, pieces, outputs)
    elif isinstance(front, Places):
        outputs = of_kinds_and_cells(graph, front, outputs, pulled)
    return outputs, graph.add("Squeeze", value, graph.constant([1]), out="value")


def dense_parts(policy: Policy) -> list[tuple[np.ndarray, np.ndarray]]:
    """(W, b) of the layers and of what stands in front, without a trunk's."""
    spec = policy.spec
    dense = policy.weights[: len(policy.weights) - len(spec.trunk(policy.weights))]
    return type(spec)(spec.layers, spec.activation).split(dense)


def convolved(graph: Graph, policy: Policy) -> str:
    """What the first dense layer reads of pictures and numbers: f32 `[batch, n_obs]`."""
    layout = policy.spec.layout
    if layout.alone:
        parts = [graph.add("Cast", "observation", to=1)]  # f32
    else:
        parts = graph.cut("observation", list(layout.sizes))
    found = []
    filters = enumerate(policy.spec.filters(policy.weights))
    for pixels, part in zip(layout.pictures, parts, strict=False):
        x = part if layout.alone else graph.reshape(part, [-1, *pixels])
        x = graph.add("Div", x, graph.constant(255, np.float32))
        for _, _, stride in convolutions.layers(pixels):
            at, (matrix, bias) = next(filters)
            weights = [
                graph.constant(array, np.float32, f"trunk_{name}_{at}") for name, array in (("w", matrix), ("b", bias))
            ]
            x = graph.add("Relu", graph.add("Conv", x, *weights, strides=[stride, stride]))
        found.append(graph.add("Flatten", x, axis=1))
    return found[0] if layout.alone else graph.add("Concat", *found, *parts[len(found) :], axis=1)


def dense(graph: Graph, x: str, part: tuple[str, str]) -> str:
    """A layer of the last axis of `x`; Gemm takes matrices only."""
    return graph.add("Add", graph.add("MatMul", x, part[0]), part[1])


def traits(
    graph: Graph, pairs: Pairs, parts: list[tuple[str, str]], seen: str, n_obs: int
) -> tuple[str, tuple[str, str]]:
    """What the dense layers read of pairs, and the parts of items and of spaces that `judged` needs."""
    sizes = [pairs.items * pairs.of_item, pairs.spaces * pairs.of_space, n_obs - pairs.inputs]
    cut = graph.cut(seen, [size for size in sizes if size])
    means, pieces = [], []
    for k, shape in enumerate(((pairs.items, pairs.of_item), (pairs.spaces, pairs.of_space))):
        found = graph.add("Relu", dense(graph, graph.reshape(cut[k], [-1, *shape]), parts[k]))
        means.append(graph.add("ReduceMean", found, axes=[1], keepdims=0))
        pieces.append(dense(graph, found, parts[k + 2]))
    return graph.add("Concat", *means, *cut[2:], axis=1), (pieces[0], pieces[1])


def judged(graph: Graph, pairs: Pairs, parts: list[tuple[str, str]], pieces: tuple[str, str], context: str) -> str:
    """Logits `[batch, items * spaces]` of pairs."""
    items, spaces = pieces
    with_context = graph.add("Add", spaces, graph.add("Unsqueeze", context, graph.constant([1])))
    rows = graph.add("Unsqueeze", items, graph.constant([2]))
    sums = graph.add("Add", rows, graph.add("Unsqueeze", with_context, graph.constant([1])))
    return graph.reshape(dense(graph, graph.add("Relu", sums), parts[4]), [-1, pairs.actions])


def placed(graph: Graph, front: Places, parts: list[tuple[str, str]], seen: str, n_obs: int) -> tuple[str, str]:
    """What the dense layers read of places, and what their pulls add to each cell's logit `[batch, cells]`."""
    sizes = [front.inputs, n_obs - front.inputs]
    cut = graph.cut(seen, [size for size in sizes if size])
    of_each = graph.reshape(cut[0], [-1, front.places, front.of_place])
    named, there = graph.cut(of_each, [1, front.of_place - 1], axis=2)
    most = graph.add("ReduceMax", graph.add("Abs", there), axes=[2], keepdims=1)
    exists = graph.add("Cast", graph.add("Greater", most, graph.constant(0, np.float32)), to=1)  # f32
    found = graph.add("Mul", graph.add("Relu", dense(graph, there, parts[0])), exists)  # [batch, places, traits]
    pulls = graph.add("Mul", dense(graph, found, parts[1]), exists)  # [batch, places, reaches]
    last = front.cells - 1
    number = clipped(graph, graph.add("Round", graph.add("Mul", named, graph.constant(last, np.float32))), 0, last)
    wide = graph.constant(front.columns, np.float32)
    row = graph.add("Floor", graph.add("Div", number, wide))
    column = graph.add("Sub", number, graph.add("Mul", row, wide))
    square = [
        graph.add("Mul", gap, gap)
        for gap in (
            graph.add("Sub", place, graph.constant(cells.astype(np.float32), np.float32))
            for place, cells in zip((row, column), divmod(np.arange(front.cells), front.columns), strict=True)
        )
    ]
    far = graph.add("Unsqueeze", graph.add("Sqrt", graph.add("Add", *square)), graph.constant([2]))
    reach = graph.constant(np.arange(1, front.reaches + 1)[:, None], np.float32)
    one = graph.constant(1, np.float32)
    near = graph.add("Relu", graph.add("Sub", one, graph.add("Div", far, reach)))  # [batch, places, reaches, cells]
    pulled = graph.add("Mul", graph.add("Unsqueeze", pulls, graph.constant([3])), near)
    summed = graph.add("ReduceSum", pulled, graph.constant([1, 2]), keepdims=0)
    return graph.add("Concat", graph.add("ReduceMean", found, axes=[1], keepdims=0), *cut[1:], axis=1), summed


def of_kinds_and_cells(graph: Graph, front: Places, of_kind: str, of_cell: str) -> str:
    """Logits `[batch, kinds * cells]`."""
    kinds, cells = (graph.add("Unsqueeze", x, graph.constant([k])) for x, k in ((of_kind, 2), (of_cell, 1)))
    return graph.reshape(graph.add("Add", kinds, cells), [-1, front.actions])


def looked_ahead(graph: Graph, grid: Grid, part: tuple[str, str], seen: str, n_obs: int) -> str:
    """What the dense layers read of a grid: values that spread cell by cell, in a loop over the cells of all sweeps.

    A missing neighbour is replaced by the cell itself: costs are positive, so that this changes no value.
    """
    sizes = [grid.planes * grid.cells, grid.cells, n_obs - grid.inputs]
    planes, player, *others = graph.cut(seen, [size for size in sizes if size])
    planes = graph.add("Transpose", graph.reshape(planes, [-1, grid.planes, grid.cells]), perm=[2, 0, 1])
    cost, source = graph.cut(dense(graph, planes, part), [grid.maps, grid.maps], axis=2)  # [cells, batch, maps]
    cost = graph.add("Softplus", cost)
    near = grid.neighbours()
    inside = np.where(near >= 0, near, np.arange(grid.cells)[:, None])
    order = np.concatenate([np.array(sweep(grid, k)) for k in range(grid.sweeps)])

    body = Graph("loop_", ("loop_k", "loop_going", "loop_value"))
    cell = body.add("Unsqueeze", body.add("Gather", graph.constant(order), "loop_k"), body.constant([0]))  # [1]
    around = body.add("Squeeze", body.add("Gather", graph.constant(inside), cell), body.constant([0]))
    best = body.add("ReduceMax", body.add("Gather", "loop_value", around), axes=[0], keepdims=1)
    spread = body.add("Sub", best, body.add("Gather", cost, cell))
    higher = body.add("Max", body.add("Gather", "loop_value", cell), spread)
    place = body.add("Unsqueeze", cell, body.constant([1]))
    going, value = body.add("Identity", "loop_going"), body.add("ScatterND", "loop_value", place, higher)
    body.outputs = [going, value]
    count, start = graph.constant(len(order)), graph.constant(True, np.bool_)
    value = graph.add("Loop", count, start, source, body=body)

    gaps = []
    player = graph.add("Unsqueeze", graph.add("Transpose", player, perm=[1, 0]), graph.constant([2]))
    for way in range(near.shape[1]):
        gap = graph.add("Sub", graph.add("Gather", value, graph.constant(inside[:, way])), value)
        exists = graph.constant((near[:, way] >= 0)[:, None, None], np.bool_)
        gap = graph.add("Where", exists, gap, graph.constant(OUTSIDE, np.float32))
        found = graph.add("ReduceSum", graph.add("Mul", gap, player), graph.constant([0]), keepdims=0)
        gaps.append(graph.add("Unsqueeze", found, graph.constant([2])))  # [batch, maps, 1]
    features = graph.reshape(graph.add("Concat", *gaps, axis=2), [-1, grid.features])
    return graph.add("Concat", features, *others, axis=1) if others else features


def choices(graph: Graph, logits: str, actions: Actions) -> str:
    """The likeliest option of each choice, as the environment takes it: i64 `[batch]`, or `[batch, *shape]`."""
    likeliest = [
        graph.add("ArgMax", part, axis=1, keepdims=int(actions.kind != "choice"))
        for part in graph.cut(logits, list(actions.sizes))
    ]
    if actions.kind == "choice":
        return graph.add("Add", likeliest[0], graph.constant(actions.start), out="action")
    together = graph.add("Concat", *likeliest, axis=1)
    return graph.reshape(together, [-1, *actions.shape], out="action")


def gaussian(graph: Graph, outputs: str, actions: Actions) -> None:
    """`action_mean` and `action_deviation` f32 `[batch, k]` before clipping, and `action`."""
    mean, log_deviation = graph.cut(outputs, [len(actions.low)] * 2)
    graph.add("Identity", mean, out="action_mean")
    log_deviation = graph.add("Add", log_deviation, graph.constant(FIRST_LOG_DEVIATION, np.float32))
    graph.add("Exp", clipped(graph, log_deviation, *LOG_DEVIATIONS), out="action_deviation")
    share = graph.add("Add", clipped(graph, mean, -1, 1), graph.constant(1, np.float32))
    stretched(graph, mean, graph.add("Mul", share, graph.constant(0.5, np.float32)), actions)


def beta(graph: Graph, outputs: str, actions: Actions) -> None:
    """`action_alpha` and `action_beta` f32 `[batch, k]` of a distribution on 0..1, and `action`."""
    first, second = graph.cut(outputs, [len(actions.low)] * 2)
    one = graph.constant(1, np.float32)
    alpha, other = (
        graph.add("Add", graph.add("Softplus", x), one, out=name)
        for x, name in ((first, "action_alpha"), (second, "action_beta"))
    )
    share = graph.add("Div", alpha, graph.add("Add", alpha, other))
    stretched(graph, share, clipped(graph, share, EDGE, 1 - EDGE), actions)


def clipped(graph: Graph, x: str, low: float, high: float) -> str:
    return graph.add("Clip", x, graph.constant(low, np.float32), graph.constant(high, np.float32))


def stretched(graph: Graph, drawn: str, share: str, actions: Actions) -> str:
    """`action` f32 `[batch, *shape]`: a share 0..1 of the way between the bounds, or what was drawn where one lacks."""
    bounded = actions.bounded
    low, high = actions.bounds(np.float32)
    lowest = np.where(bounded, low, 0)
    way = graph.constant(np.where(bounded, high, 0) - lowest, np.float32)
    x = graph.add("Add", graph.add("Mul", share, way), graph.constant(lowest, np.float32))
    if not bounded.all():
        x = graph.add("Where", graph.constant(bounded, np.bool_), x, drawn)
    inside = graph.add("Max", x, graph.constant(low, np.float32))  # a sum may be rounded beyond a bound
    inside = graph.add("Min", inside, graph.constant(high, np.float32))
    return graph.reshape(inside, [-1, *actions.shape], out="action")
