"""The gradient of a loss, PPO's or another one, backpropagated over units of 16 samples.

Learning keeps samples as rows, so that all three products of backpropagation are the same block of block.py and only
observations and logits are transposed, 16 x 16 at a time.
"""

from __future__ import annotations

from typing import NamedTuple

from numba import njit

from dshq_kernels.network.grid import spread_slope
from dshq_kernels.network.memory import recall_slopes, remember_rows
from dshq_kernels.network.mlp import (
    BIASES,
    COLUMNS,
    HALVES,
    IN_WIDTH,
    ITEMS,
    JUDGE,
    JUDGE_SLOPE,
    MAPS,
    MEAN_SLOPE,
    MEMORY,
    N_ACTIONS,
    N_IN,
    N_OBS,
    N_OUT,
    OUT_WIDTH,
    PLANES,
    RECALL,
    ROWS,
    SPACES,
    SWEEPS,
    TRAITS,
    UNITS,
    WEIGHTS,
    WIDTH,
    front_units,
    half_of,
    in_front,
    padded,
    pair_sizes,
    plan_floats,
    plan_width,
    planned,
)
from dshq_kernels.network.ppo_loss import correct_unit, loss_unit
from dshq_kernels.simd.block import forward_block, input_slope_block, weight_slope_block
from dshq_kernels.simd.vector import (
    call_with,
    compiled,
    load,
    prefetch,
    store,
    transpose,
)

CHUNK = 4
"""Units of 16 samples that learning takes through the network at once; with a 2x64 network they fit the second
cache. With a memory it takes all units of a sequence."""
CORRECT_LAG = 1
"""Instead of the address of a loss: see `add_gradient`."""


@planned
def learn_scratch(plan, length=1):
    """Number of floats of scratch memory for `add_gradient`, with a memory for sequences of `length` decisions:
    activations, two slopes, one unit of logits and of slopes, weights transposed; what stands in front: of a grid two
    maps and the ways of its sweeps, of pairs one unit of traits and parts, their slopes, and what the dense layers say;
    of a memory what it gave, four arrays like that, and a unit's slopes of its state.
    """
    widths = plan[0, IN_WIDTH] + 2 * plan_width(plan)
    for row in range(plan.shape[0]):
        widths += plan[row, OUT_WIDTH]
    wide = padded(plan[0, UNITS])
    ways = plan[0, ROWS] * plan[0, COLUMNS] * plan[0, MAPS] * plan[0, SWEEPS]
    units = 2 * (wide + front_units(plan) + padded(plan[0, N_ACTIONS] + 1)) + plan[-1, OUT_WIDTH]
    at_once = length if wide > 0 else CHUNK
    return int(at_once * 16 * (widths + 5 * wide) + 16 * (units + CHUNK * ways) + plan_floats(plan))


@njit(nogil=True, error_model="numpy", inline="always")
def outputs_width(plan):
    """Logits and value, rounded up to the 32 columns of a block."""
    return (plan[0, N_ACTIONS] + 32) // 32 * 32


@compiled
def _transpose_weights(plan, params, target):
    """The weights of every layer whose input has a slope, and those of a memory's own outputs, as `[n_out, n_in]` at
    the same places of the block at address `target`."""
    first, layers = 0 if plan[0, ROWS] + plan[0, ITEMS] > 0 else 1, plan.shape[0]
    for layer in range(first, layers + (plan[0, UNITS] > 0)):
        row = plan[0, MEMORY] if layer == layers else layer
        n_in, n_out = plan[row, IN_WIDTH], plan[row, OUT_WIDTH]
        base = plan[row, WEIGHTS] * 4
        if layer == layers:
            n_in, base = n_out // 4, plan[0, RECALL] * 4
        for k in range(0, n_in, 16):
            for j in range(0, n_out, 16):
                transpose(
                    params + base + (k * n_out + j) * 4, n_out * 4, target + base + (j * n_in + k) * 4, n_in * 4, 16
                )


@njit(nogil=True, error_model="numpy", inline="always")
def _bring_near(data, n_obs, unit):
    """Start loading a unit's samples: they are scattered in memory, and waiting for them took 10 % of an update
    (measured).
    """
    for k in range(n_obs):
        prefetch(data[0] + (unit * n_obs + k) * 64)
    for field in range(1, 6):
        prefetch(data[field] + unit * 64)


@compiled
def add_gradient(
    plan, activation, params, data, units, importance, normal, scaling, hyper, loss, gradient, sums, scratch
):
    """Adds the gradient of a loss over `units` (int64 indices) to the padded block at address `gradient`. `loss`: (0,
    0) for PPO's; else the address of the C function of another one (search_loss.py), and of what it reads. With
    `CORRECT_LAG` there is no gradient: see update.py, `_correct_lag`.

    `data`: addresses of obs f32 `[unit, n_obs, 16]`, action i32, log_prob, value, advantage and return f32 `[unit,
    16]`, mask u32 `[unit, ceil(n_actions / 32), 16]` or 0 where there is none, then begins f32 `[unit, 16]`, the states
    of memories f32 `[sequence, 2 units, 16]` and the number of decisions in a sequence, 0, 0 and 1 without a memory:
    with one, `units` are whole sequences, each in its order (`Samples`). `importance`: f32 per entry of `units`.
    `normal`: f32 `[n_obs, 2]`, mean and 1 / deviation of the observations, or of length 0 where they are taken as they
    are. `scaling`, `hyper`, `sums`: see `ppo_loss.loss_unit`. `scratch`: address of `learn_scratch` floats.
    """
    room = _room(plan, data[9], scratch)
    _transpose_weights(plan, params, room.transposed)
    for begin in range(0, units.size, room.chunk):
        count = min(room.chunk, units.size - begin)
        for u in range(begin + room.chunk, min(begin + 2 * room.chunk, units.size)):
            _bring_near(data, plan[0, N_OBS], units[u])
        _read(plan, params, data, units, begin, count, normal, room)
        said = _forward(plan, activation, params, data, units, begin, count, room)
        _lose(plan, params, data, units, begin, count, said, importance, scaling, hyper, loss, gradient, sums, room)
        if loss[0] != CORRECT_LAG:
            _backward(plan, activation, params, data, units, begin, count, said, gradient, room)


class Room(NamedTuple):
    """Addresses of the memory in which `add_gradient` works, and what is in front of the dense layers."""

    chunk: int
    """Units that go through the network at once."""
    slope_in: int
    slope_out: int
    """Slopes of a layer's inputs and outputs, f32 `[chunk, 16, widest layer]`; of each in turn."""
    unit_logits: int
    unit_slopes: int
    transposed: int
    """The weights, as `_transpose_weights` leaves them."""
    inputs: int
    """Activations of all layers, one after another, f32 `[chunk, 16, width]`."""
    front: int
    chosen: int
    """The ways of a grid's sweeps, `chosen_bytes` for each unit."""
    chosen_bytes: int
    said: int
    said_slopes: int
    """What the dense layers say of one unit, and its slopes."""
    parts: int
    more: int
    """Of pairs: one unit of traits and parts, and their slopes."""
    wide_memory: int
    """Units of the network's memory, padded; 0: there is none."""


@compiled
def _room(plan, length, scratch):
    """Where what is in the memory at `scratch`; with a memory of sequences of `length` decisions."""
    layers, in_width, outputs = plan.shape[0], plan[0, IN_WIDTH], outputs_width(plan)
    out_width, remembers = plan[layers - 1, OUT_WIDTH], plan[0, UNITS]
    width = in_width
    for layer in range(layers):
        width = max(width, plan[layer, OUT_WIDTH])
    wide_memory = plan[plan[0, MEMORY], OUT_WIDTH] // 4 if remembers > 0 else 0
    chunk = length if remembers > 0 else CHUNK
    slope_out = scratch + chunk * 64 * width
    unit_logits = slope_out + chunk * 64 * width
    unit_slopes = unit_logits + 64 * outputs
    transposed = unit_slopes + 64 * outputs
    inputs = transposed + (plan[layers - 1, BIASES] + out_width) * 4
    front = inputs + chunk * 64 * (in_width + wide_memory)  # behind the activations
    for layer in range(layers):
        front = front + chunk * 64 * plan[layer, OUT_WIDTH]
    cells, pairs = plan[0, ROWS] * plan[0, COLUMNS], plan[0, ITEMS] > 0
    parts = front + 64 * out_width
    return Room(
        chunk,
        scratch,
        slope_out,
        unit_logits,
        unit_slopes,
        transposed,
        inputs,
        front,
        front + 2 * cells * 64,
        plan[0, MAPS] * plan[0, SWEEPS] * cells * 64,
        front if pairs else unit_logits,  # behind context and value both are 0
        front if pairs else unit_slopes,
        parts,
        parts + (plan[0, ITEMS] + plan[0, SPACES]) * (plan[0, TRAITS] + plan[0, WIDTH]) * 64,
        wide_memory,
    )


@compiled
def _read(plan, params, data, units, begin, count, normal, room):
    """The inputs of the first dense layer for `count` units from `begin` on: rows of samples."""
    n_obs, n_in, in_width = plan[0, N_OBS], plan[0, N_IN], plan[0, IN_WIDTH]
    for u in range(count):
        seen = data[0] + units[begin + u] * n_obs * 64
        if normal.shape[0] > 0:
            for k in range(n_obs):
                store(room.slope_in + k * 64, (load(seen + k * 64) - normal[k, 0]) * normal[k, 1])
            seen = room.slope_in
        if plan[0, ROWS] > 0 or plan[0, ITEMS] > 0:
            in_front(plan, params, seen, room.slope_out, room.front, room.chosen + u * room.chosen_bytes)
            seen = room.slope_out
        for k in range(0, in_width, 16):
            target = room.inputs + (u * 16 * in_width + k) * 4
            transpose(seen + k * 64, 64, target, in_width * 4, max(0, min(16, n_in - k)))


@compiled
def _forward(plan, activation, params, data, units, begin, count, room):
    """The dense layers' activations; the address of the last ones."""
    begins, states, length = data[7], data[8], data[9]
    layers, remembers, memory_row = plan.shape[0], plan[0, UNITS], plan[0, MEMORY]
    source = room.inputs
    for layer in range(layers):
        row, wide, halves = plan[layer, IN_WIDTH] * 4, plan[layer, OUT_WIDTH] * 4, plan[layer, HALVES]
        depth = plan[layer, N_IN] // halves
        result = source + room.chunk * 16 * row
        for j in range(0, wide, 128):
            first = half_of(j, wide, halves) * depth
            for r in range(0, count * 16, 8):
                forward_block(
                    source + r * row + first * 4,
                    row,
                    params + plan[layer, WEIGHTS] * 4 + first * wide + j,
                    wide,
                    64,
                    depth,
                    result + r * wide + j,
                    wide,
                    64,
                    params + plan[layer, BIASES] * 4 + j,
                    activation if layer < layers - 1 and layer != memory_row else 0,
                )
        source = result
        if layer == memory_row:
            source = result + room.chunk * 16 * wide
            remember_rows(
                room.wide_memory,
                remembers,
                params + plan[0, RECALL] * 4,
                result,
                source,
                room.front,
                count,
                room.chunk,
                begins + units[begin] * 64,
                states + (units[begin] // (2 * length) * 2 + units[begin] % 2) * remembers * 128,
            )
    return source


@compiled
def _lose(plan, params, data, units, begin, count, said, importance, scaling, hyper, loss, gradient, sums, room):
    """The loss of each unit, and its slopes in the place of what the dense layers said, the rows at `said`."""
    obs, action, log_prob, value, advantage, target, mask, _, _, _ = data
    n_actions, outputs, out_width = plan[0, N_ACTIONS], outputs_width(plan), plan[plan.shape[0] - 1, OUT_WIDTH]
    pairs = plan[0, ITEMS] > 0
    for u in range(count):
        for j in range(0, out_width, 16):
            transpose(said + (u * 16 * out_width + j) * 4, out_width * 4, room.said + j * 64, 64, 16)
        at = units[begin + u] * 64
        seen = obs + at * plan[0, N_OBS]
        bits = mask + units[begin + u] * ((n_actions + 31) // 32 * 64) if mask > 0 else 0
        if pairs:
            call_with(
                plan[0, JUDGE],
                (*pair_sizes(plan), params, seen, room.said, 64, bits, 1, room.unit_logits, 64, room.parts),
            )
        if loss[0] == CORRECT_LAG:
            correct_unit(room.unit_logits, n_actions, action + at, log_prob + at, advantage + at, bits)
            continue
        if loss[0] != 0:
            given = (room.unit_logits, room.unit_slopes, outputs, n_actions, bits, begin + u, loss[1], sums)
            call_with(loss[0], given)
        else:
            loss_unit(
                room.unit_logits,
                room.unit_slopes,
                outputs,
                n_actions,
                action + at,
                log_prob + at,
                value + at,
                advantage + at,
                target + at,
                bits,
                importance[begin + u],
                scaling,
                hyper,
                sums,
            )
        if pairs:
            call_with(
                plan[0, JUDGE_SLOPE],
                (
                    *pair_sizes(plan),
                    params,
                    seen,
                    room.unit_slopes,
                    room.parts,
                    room.more,
                    room.said_slopes,
                    gradient,
                ),
            )
        for j in range(0, out_width, 16):
            transpose(room.said_slopes + j * 64, 64, room.slope_out + (u * 16 * out_width + j) * 4, out_width * 4, 16)


@compiled
def _backward(plan, activation, params, data, units, begin, count, said, gradient, room):
    """Adds the gradient of all parameters from the slopes of what the last layer said."""
    obs, begins = data[0], data[7]
    memory_row, in_front_of = plan[0, MEMORY], plan[0, ROWS] > 0 or plan[0, ITEMS] > 0
    slope_in, slope_out, source, samples = room.slope_in, room.slope_out, said, count * 16
    for layer in range(plan.shape[0] - 1, -1, -1):
        row, wide, halves = plan[layer, IN_WIDTH] * 4, plan[layer, OUT_WIDTH] * 4, plan[layer, HALVES]
        depth = plan[layer, N_IN] // halves
        if layer == memory_row:
            source = source - room.chunk * 16 * wide
            recall_slopes(
                room.wide_memory,
                plan[0, UNITS],
                room.transposed + plan[0, RECALL] * 4,
                source,
                slope_out,
                slope_in,
                room.front,
                room.front + room.chunk * 256 * room.wide_memory,
                count,
                room.chunk,
                begins + units[begin] * 64,
                gradient + plan[0, RECALL] * 4,
            )
            slope_in, slope_out = slope_out, slope_in
        source = source - room.chunk * 16 * row
        weights = gradient + plan[layer, WEIGHTS] * 4
        for j in range(0, wide, 128):
            first = half_of(j, wide, halves) * depth
            for k in range(first, first + depth, 8):
                weight_slope_block(
                    source + k * 4, row, slope_out + j, wide, 64, samples, weights + k * wide + j, wide, 64, 0, 0
                )
        for j in range(0, wide, 64):
            total = load(gradient + plan[layer, BIASES] * 4 + j)
            for r in range(samples):
                total = total + load(slope_out + r * wide + j)
            store(gradient + plan[layer, BIASES] * 4 + j, total)
        if layer > 0 or in_front_of:
            depth = plan[layer, N_OUT] // halves
            for k in range(0, row, 128):
                first = half_of(k, row, halves) * depth
                for r in range(0, samples, 8):
                    input_slope_block(
                        slope_out + r * wide + first * 4,
                        wide,
                        room.transposed + plan[layer, WEIGHTS] * 4 + first * row + k,
                        row,
                        64,
                        depth,
                        slope_in + r * row + k,
                        row,
                        64,
                        source + r * row + k,
                        activation if layer > 0 and layer != memory_row + 1 else 0,
                    )
            slope_in, slope_out = slope_out, slope_in
    if in_front_of:
        some = units[begin : begin + count]
        _add_front_gradient(plan, params, obs, some, slope_out, slope_in, room.front, room.chosen, gradient)


@compiled
def _add_front_gradient(plan, params, obs, units, slopes, lanes, front, chosen, gradient):
    """Adds the gradient of what stands in front over some units, from the slopes of the first dense layer's inputs,
    rows of samples at address `slopes`; `lanes` is memory for one unit of them, the rest is as in `add_gradient`.
    """
    rows, columns, planes = plan[0, ROWS], plan[0, COLUMNS], plan[0, PLANES]
    row, cells = plan[0, IN_WIDTH] * 4, rows * columns
    for u in range(units.size):
        for k in range(0, plan[0, IN_WIDTH], 16):
            transpose(slopes + u * 16 * row + k * 4, row, lanes + k * 64, 64, 16)
        if plan[0, ITEMS] > 0:
            seen = obs + units[u] * plan[0, N_OBS] * 64
            call_with(plan[0, MEAN_SLOPE], (*pair_sizes(plan), params, seen, lanes, front, gradient))
            continue
        spread_slope(
            rows,
            columns,
            planes,
            plan[0, MAPS],
            plan[0, SWEEPS],
            params,
            obs + units[u] * plan[0, N_OBS] * 64,
            lanes,
            chosen + u * plan[0, MAPS] * plan[0, SWEEPS] * cells * 64,
            front,
            front + cells * 64,
            gradient,
        )
