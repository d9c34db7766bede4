"""The policy and value network on vectors of 16 lanes: where its parameters lie, and forward for playing.

Playing keeps games as lanes, `x[k, lane]`, as the rules write them; gradient.py learns.

Layer sizes are run-time numbers: nothing is compiled per shape. Widths are padded to multiples of 32 inside; padding
weighs zero, gets gradient zero and so stays zero.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import astuple

import numpy as np
from numba import njit
from numba.extending import register_jitable

from dshq_kernels.network.grid import spread_lanes
from dshq_kernels.network.layers import GATES, Front, Grid, Pairs, Places, memory_of, parse
from dshq_kernels.network.memory import remember_lanes
from dshq_kernels.network.pairs import addresses
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
PIECES = 3
"""Of a row of a plan: its weights, those of a memory's own outputs, its biases."""
NO_MEMORY = (0, 0, 0)
"""The argument `memory` of `forward_lanes` for a network without one."""
ACTIVATIONS = {"none": 0, "tanh": 1, "relu": 2}
FORBIDDEN = -1e9
"""The logit of an action that a mask forbids: its probability is 0 in float32."""


planned = register_jitable(error_model="numpy")
"""Marks what Python runs as it stands, and the page as WebAssembly (play/plans.py)."""


@planned
def padded(width):
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
    units = memory_of(layers)
    plan = np.zeros((len(dense) - 1 + (units > 0), PLAN_COLUMNS), np.int64)
    sizes = (*astuple(front), *(addresses() if isinstance(front, Pairs) else ())) if front else ()
    ends, in_front = (layers[0], layers[-1] - 1), front_floats(front)
    lay_out(plan, np.array(dense, np.int64), np.array(sizes, np.int64), in_front, units, separate, *ends)
    return plan


@planned
def lay_out(plan, dense, front, in_front, units, separate, n_obs, n_actions):
    """Fill a plan of zeros. `dense`: sizes of the dense layers, int64; `front`: the columns of what stands in front of
    them, int64, of pairs also their code; `in_front`: floats of its weights; `units` of the memory.
    """
    last, offset = plan.shape[0] - 1, padded(in_front)
    memory = last - 1 if units > 0 else -1
    for row in range(last + 1):
        behind = 1 if 0 <= memory < row else 0  # rows behind the memory have a size less
        n_in = units if behind else dense[row]
        n_out = GATES * padded(units) if row == memory else dense[row + 1 - behind]
        recall = offset + padded(n_in) * padded(n_out)
        biases = recall + padded(units) * n_out if row == memory else recall
        whole = n_in % 64 == 0 and n_out % 64 == 0  # halves of whole blocks
        plan[row, N_IN], plan[row, IN_WIDTH] = n_in, padded(n_in)
        plan[row, N_OUT], plan[row, OUT_WIDTH] = n_out, padded(n_out)
        plan[row, WEIGHTS], plan[row, BIASES] = offset, biases
        plan[row, HALVES] = 2 if separate and whole and 0 < row < last and row != memory else 1
        if row == memory:
            plan[0, UNITS], plan[0, RECALL] = units, recall
        offset = biases + padded(n_out)
    plan[0, N_OBS], plan[0, N_ACTIONS], plan[0, MEMORY] = n_obs, n_actions, memory
    begin = ROWS if front.size == ITEMS - ROWS else ITEMS
    for k in range(front.size):
        plan[0, begin + k] = front[k]


def front_floats(front: Front | None) -> int:
    """Floats of the weights of what stands in front of the dense layers."""
    return sum((n_in + 1) * n_out for n_in, n_out in front.shapes) if front else 0


@planned
def plan_floats(plan):
    """Floats of a padded parameter block."""
    return int(plan[-1, BIASES] + plan[-1, OUT_WIDTH])


@planned
def plan_width(plan):
    """The widest padded layer, input included."""
    width = 0
    for row in range(plan.shape[0]):
        width = max(width, plan[row, IN_WIDTH], plan[row, OUT_WIDTH])
    return int(width)


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
    parts = np.zeros((1 + PIECES * len(plan), 4), np.int64)
    list_pieces(plan, front_floats(front_of(plan)), parts)
    found = [np.arange(rows)[:, None] * width + np.arange(columns) + at for at, rows, columns, width in parts.tolist()]
    return np.concatenate([part.ravel() for part in found])


@planned
def list_pieces(plan, in_front, pieces):
    """Fill int64 zeros `[1 + PIECES rows, 4]`: where the numbers of the blob stand in the block, piece by piece in the
    blob's order. A piece: the place of its first number, rows, columns, and how far it is from row to row.
    """
    pieces[0, 1], pieces[0, 2] = 1, in_front
    for row in range(plan.shape[0]):
        remembers = row == plan[0, MEMORY]
        gates = GATES if remembers else 1
        first = 1 + PIECES * row
        pieces[first, 0], pieces[first, 1] = plan[row, WEIGHTS], gates * plan[row, N_IN]
        if remembers:
            pieces[first + 1, 0], pieces[first + 1, 1] = plan[0, RECALL], gates * plan[0, UNITS]
        pieces[first + 2, 0], pieces[first + 2, 1] = plan[row, BIASES], gates
        for k in range(first, first + PIECES):
            pieces[k, 2] = plan[0, UNITS] if remembers else plan[row, N_OUT]
            pieces[k, 3] = plan[row, OUT_WIDTH] // gates


def front_of(plan: np.ndarray) -> Front | None:
    """The layer in front of the dense layers, or None."""
    grid, pairs = plan[0, ROWS:ITEMS].tolist(), plan[0, ITEMS:MEAN].tolist()
    return Grid(*grid) if grid[0] else Pairs(*pairs) if pairs[0] else None


@planned
def front_units(plan):
    """Units of scratch memory that one unit of samples needs in front of the dense layers, or behind them: two maps of
    a grid, traits and parts of pairs.
    """
    cells, things = plan[0, ROWS] * plan[0, COLUMNS], plan[0, ITEMS] + plan[0, SPACES]
    return 2 * cells + things * (plan[0, TRAITS] + plan[0, WIDTH])


@planned
def play_scratch(plan):
    """Floats of scratch memory that `forward_lanes` needs: two layers' outputs, and what stands in front of them."""
    units = 4 * plan_width(plan) + front_units(plan)
    if plan[0, ROWS] + plan[0, ITEMS] > 0:
        units += 2 * plan[0, IN_WIDTH]
    if plan[0, ITEMS] > 0:
        units += 2 * (plan[0, N_ACTIONS] + 1)
    return int(units) * LANES


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
