"""The policy and value network on vectors of 16 lanes: where its parameters lie, and forward for playing.

Playing keeps games as lanes, `x[k, lane]`, as the rules write them; gradient.py learns.

Layer sizes are run-time numbers: nothing is compiled per shape. Widths are padded to multiples of 32 inside; padding
weighs zero, gets gradient zero and so stays zero.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import astuple

import numpy as np
from numba import njit

from dshq_kernels.network.grid import spread_lanes
from dshq_kernels.network.layers import GATES, Front, Grid, Pairs, Places, memory_of, parse
from dshq_kernels.network.memory import remember_lanes
from dshq_kernels.network.pairs import addresses, scratch_units
from dshq_kernels.simd import vector
from dshq_kernels.simd.block import play_block
from dshq_kernels.simd.lanes import LANES
from dshq_kernels.simd.vector import call_with, compiled, copy_bytes

N_IN, IN_WIDTH, N_OUT, OUT_WIDTH, WEIGHTS, BIASES, HALVES, N_OBS, N_ACTIONS = range(9)
ROWS, COLUMNS, PLANES, MAPS, SWEEPS = range(9, 14)
ITEMS, OF_ITEM, SPACES, OF_SPACE, TRAITS, WIDTH = range(14, 20)
MEAN, MEAN_SLOPE, JUDGE, JUDGE_SLOPE = range(20, 24)
MEMORY, UNITS, RECALL = range(24, 27)
PLAN_COLUMNS = 27
"""Columns of a plan: a dense layer's sizes, padded sizes, and where its weights and biases begin (in floats); in how
many halves it is calculated, 2 where two networks lie side by side with nothing between them, else 1. In the first row
also the observations and actions, and the grid (grid.py) or the pairs (pairs.py), 0 where there are none: their weights
begin the block. Behind the pairs stand the addresses of their code in this process; in WebAssembly, its indices in the
function table. Last the memory (memory.py): its row, its units, and where the weights of its own outputs begin; -1, 0
and 0 without one. Its outputs are four gates, each padded by itself."""
NO_MEMORY = (0, 0, 0)
"""The argument `memory` of `forward_lanes` for a network without one."""
ACTIVATIONS = {"none": 0, "tanh": 1, "relu": 2}
FORBIDDEN = -1e9
"""The logit of an action that a mask forbids: its probability is 0 in float32."""


def padded(width: int) -> int:
    """`width` rounded up to the 32 columns of a block."""
    return -(-int(width) // 32) * 32


def make_plan(layers: Sequence[int], separate: bool = False) -> np.ndarray:
    """int64 `[n_dense, PLAN_COLUMNS]` for the sizes `[n_obs, (front,) hidden..., n_outputs]`: the columns named above.
    `separate`: every hidden layer is two of half the width, and the weights between them are zero and stay so.
    """
    front, dense = parse(layers)
    if isinstance(front, Places):
        raise ValueError(
            "a network with places in front is played in numpy and on the page; these are compiled for others"
        )
    if len(dense) < 2 or min(dense) < 1:
        raise ValueError(f"a network needs at least two sizes, each at least 1; got {list(layers)}")
    offset = padded(front_floats(front)) if front else 0
    units = memory_of(layers)
    plan = np.zeros((len(dense) - 1 + (units > 0), PLAN_COLUMNS), np.int64)
    for layer, (n_in, n_out) in enumerate(itertools.pairwise(dense)):
        if units and layer == len(dense) - 2:
            gates, recall = GATES * padded(units), offset + padded(n_in) * GATES * padded(units)
            biases = recall + padded(units) * gates
            plan[layer, :N_OBS] = n_in, padded(n_in), gates, gates, offset, biases, 1
            plan[0, UNITS], plan[0, RECALL] = units, recall
            layer, n_in, offset = layer + 1, units, biases + gates
        biases = offset + padded(n_in) * padded(n_out)
        between = 0 < layer < len(plan) - 1 and n_in % 64 == n_out % 64 == 0  # halves of whole blocks
        plan[layer, :N_OBS] = n_in, padded(n_in), n_out, padded(n_out), offset, biases, 1 + (separate and between)
        offset = biases + padded(n_out)
    plan[0, N_OBS], plan[0, N_ACTIONS] = layers[0], layers[-1] - 1
    if front:
        begin, end = (ROWS, ITEMS) if isinstance(front, Grid) else (ITEMS, MEAN)
        plan[0, begin:end] = astuple(front)
        plan[0, MEAN:MEMORY] = 0 if isinstance(front, Grid) else addresses()
    plan[0, MEMORY] = len(plan) - 2 if units else -1
    return plan


def front_floats(front: Front) -> int:
    """Floats of the weights of what stands in front of the dense layers."""
    return sum((n_in + 1) * n_out for n_in, n_out in front.shapes)


def plan_floats(plan: np.ndarray) -> int:
    """Floats of a padded parameter block."""
    return int(plan[-1, BIASES] + plan[-1, OUT_WIDTH])


def plan_width(plan: np.ndarray) -> int:
    """The widest padded layer, input included."""
    return int(plan[:, [IN_WIDTH, OUT_WIDTH]].max())


def pack(plan: np.ndarray, blob: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The flat float32 policy blob spread into a padded parameter block (`out`, or a new aligned one)."""
    out, places = vector.aligned(plan_floats(plan)) if out is None else out, _places(plan.tobytes())
    if blob.size != places.size:
        raise ValueError(
            f"this network has {places.size} parameters, but the blob holds {blob.size}: it has a different shape"
        )
    out[:] = 0
    out[places] = blob
    return out


def unpack(plan: np.ndarray, params: np.ndarray) -> np.ndarray:
    """The flat float32 policy blob of a padded parameter block."""
    return params[_places(plan.tobytes())].astype(np.float32)


@functools.lru_cache(maxsize=64)
def _places(layout: bytes) -> np.ndarray:
    """Where in the block each number of the blob stands, int64, for the plan of these bytes."""
    plan = np.frombuffer(layout, np.int64).reshape(-1, PLAN_COLUMNS)
    block = np.arange(plan_floats(plan))
    front = front_of(plan)
    parts = [block[: front_floats(front)]] if front else []
    for layer, (n_in, in_width, n_out, out_width, w, b) in enumerate(plan[:, :HALVES].tolist()):
        if layer == plan[0, MEMORY]:
            units, recall, wide = int(plan[0, UNITS]), int(plan[0, RECALL]), out_width // GATES
            for begin, rows, count in ((w, in_width, n_in), (recall, wide, units), (b, 1, 1)):
                gates = block[begin : begin + rows * out_width].reshape(rows, GATES, wide)
                parts.append(gates[:count, :, :units].ravel())
            continue
        parts.append(block[w : w + in_width * out_width].reshape(in_width, out_width)[:n_in, :n_out].ravel())
        parts.append(block[b : b + n_out])
    return np.concatenate(parts)


def front_of(plan: np.ndarray) -> Front | None:
    """The layer in front of the dense layers, or None."""
    grid, pairs = plan[0, ROWS:ITEMS].tolist(), plan[0, ITEMS:MEAN].tolist()
    return Grid(*grid) if grid[0] else Pairs(*pairs) if pairs[0] else None


def front_units(plan: np.ndarray) -> int:
    """Units of scratch memory that one unit of samples needs in front of the dense layers, or behind them."""
    front = front_of(plan)
    if isinstance(front, Grid):
        return 2 * front.cells
    return scratch_units(front) if isinstance(front, Pairs) else 0


def play_scratch(plan: np.ndarray) -> int:
    """Floats of scratch memory that `forward_lanes` needs: two layers' outputs, and what stands in front of them."""
    units = 4 * plan_width(plan) + front_units(plan)
    units += 2 * int(plan[0, IN_WIDTH]) if plan[0, ROWS] else 0
    units += 2 * int(plan[0, IN_WIDTH] + plan[0, N_ACTIONS] + 1) if plan[0, ITEMS] else 0
    return units * LANES


@njit(nogil=True, error_model="numpy", inline="always")
def pair_sizes(plan):
    """The argument `sizes` of pairs.py."""
    return plan[0, ITEMS], plan[0, OF_ITEM], plan[0, SPACES], plan[0, OF_SPACE], plan[0, TRAITS], plan[0, WIDTH]


@compiled
def in_front(plan, params, obs, features, scratch, chosen):
    """What the first dense layer reads where something stands in front of it, f32 `[n_in, 16]` at address `features`:
    its features, then the other observations. `scratch`: `front_units`; `chosen`: see `spread_lanes`.
    """
    rows, columns, planes, maps = plan[0, ROWS], plan[0, COLUMNS], plan[0, PLANES], plan[0, MAPS]
    cells = rows * columns
    if rows > 0:
        read, given = (planes + 1) * cells, 4 * maps
        spread_lanes(
            rows, columns, planes, maps, plan[0, SWEEPS], params, obs, features, scratch, scratch + cells * 64, chosen
        )
    else:
        read = plan[0, ITEMS] * plan[0, OF_ITEM] + plan[0, SPACES] * plan[0, OF_SPACE]
        given = 2 * plan[0, TRAITS]
        call_with(plan[0, MEAN], (*pair_sizes(plan), params, obs, features, scratch))
    copy_bytes(features + given * 64, obs + read * 64, (plan[0, N_OBS] - read) * 64)


@njit(nogil=True, error_model="numpy", inline="always")
def half_of(column, columns, halves):
    """In which half a column lies, 0 or 1."""
    return column * halves // columns


@compiled
def forward_lanes(plan, activation, params, x, x_other, allowed, other_allowed, memory, scratch):
    """Runs two units of 16 games at addresses `x`, `x_other` (f32 `[n_obs, 16]`) through the network at address
    `params`.

    `allowed`, `other_allowed`: addresses of their masks, i32 `[n_actions, 16]`, or 0; the logits that they forbid may
    be left out. `memory`: addresses of the states of their memories, f32 `[2 units, 16]`, and whether the next states
    are written there (1 or 0); `NO_MEMORY` without any. Returns the address, within `scratch`, of f32 `[n_outputs, 2,
    16]`: logits, then the value, of both.
    """
    width = 0
    for layer in range(plan.shape[0]):
        width = max(width, plan[layer, IN_WIDTH], plan[layer, OUT_WIDTH])
    source, source_row, source_half = x, 64, x_other - x
    rest = scratch + 256 * width
    if plan[0, ROWS] + plan[0, ITEMS] > 0:
        source, source_half = rest, plan[0, IN_WIDTH] * 64
        rest = source + 2 * source_half
        in_front(plan, params, x, source, rest, 0)
        in_front(plan, params, x_other, source + source_half, rest, 0)
    target = scratch
    last = plan.shape[0] - 1
    for layer in range(plan.shape[0]):
        row_bytes = plan[layer, OUT_WIDTH] * 4
        weights, biases = params + plan[layer, WEIGHTS] * 4, params + plan[layer, BIASES] * 4
        target = scratch + (layer & 1) * 128 * width
        if layer == plan[0, MEMORY]:
            sizes = (plan[layer, N_IN], plan[layer, OUT_WIDTH] // 4, plan[0, UNITS])
            places = (weights, params + plan[0, RECALL] * 4, biases)
            remember_lanes(sizes, places, source, target, memory)
            source, source_row, source_half = target, 128, 64
            continue
        depth = plan[layer, N_IN] // plan[layer, HALVES]
        for j in range(0, plan[layer, N_OUT], 8):
            first = half_of(j, plan[layer, N_OUT], plan[layer, HALVES]) * depth
            play_block(
                weights + first * row_bytes + j * 4,
                row_bytes,
                source + first * source_row,
                source_row,
                source_half,
                depth,
                target + j * 128,
                128,
                64,
                biases + j * 4,
                activation if layer < last else 0,
            )
        source, source_row, source_half = target, 128, 64
    if plan[0, ITEMS] > 0:
        said, target = target, rest
        rest = target + (plan[0, N_ACTIONS] + 1) * 128
        sizes, judge = pair_sizes(plan), plan[0, JUDGE]
        call_with(judge, (*sizes, params, x, said, 128, allowed, 0, target, 128, rest))
        call_with(judge, (*sizes, params, x_other, said + 64, 128, other_allowed, 0, target + 64, 128, rest))
    return target
