"""PPO's loss of the network and its gradient, backpropagated over units of 16 samples.

Learning keeps samples as rows, so that all three products of backpropagation are the same block of block.py and only
observations and logits are transposed, 16 x 16 at a time.
"""

from __future__ import annotations

from numba import njit

from dshq_kernels.network.grid import spread_slope
from dshq_kernels.network.memory import recall_slopes, remember_rows
from dshq_kernels.network.mlp import (
    BIASES,
    COLUMNS,
    FORBIDDEN,
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
from dshq_kernels.simd import vector
from dshq_kernels.simd.block import forward_block, input_slope_block, weight_slope_block
from dshq_kernels.simd.elementary import exp, log
from dshq_kernels.simd.vector import (
    call_with,
    compiled,
    fma,
    load,
    load_u32,
    maximum,
    minimum,
    prefetch,
    select,
    splat,
    store,
    transpose,
)

CHUNK = 4
"""Units of 16 samples that learning takes through the network at once; with a 2x64 network they fit the second
cache. With a memory it takes all units of a sequence."""
CORRECT_LAG = 1
"""Instead of the address of a loss: see `add_gradient`."""
SUMS = 5
"""Sums over samples that the loss keeps: policy loss, squared value error, entropy, approximate KL, clipped samples."""


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
def largest_allowed(logits, n_actions, mask):
    """The largest logit of each sample, after those that `mask` forbids became `FORBIDDEN`; arguments: `_loss_unit`.
    What search learns from begins like that, too (search_loss.py).
    """
    if mask > 0:
        for j in range(n_actions):
            allowed = (load_u32(mask + (j >> 5) * 64) >> (j & 31)) & 1
            store(logits + 64 * j, select(allowed != 0, load(logits + 64 * j), FORBIDDEN))
    top = load(logits)
    for j in range(1, n_actions):
        logit = load(logits + 64 * j)
        top = select(logit > top, logit, top)  # one instruction; `maximum` minds NaN and takes three
    return top


@compiled
def _correct_unit(logits, n_actions, action, log_prob, advantage, mask):
    """The network's log-probabilities of the chosen actions in place of those of the policy that played, and the
    advantages times the ratio of the two, cut off at 1; arguments: `_loss_unit`.
    """
    top = largest_allowed(logits, n_actions, mask)
    total, chosen_log, chosen = splat(0.0), splat(0.0), load_u32(action)
    for j in range(n_actions):
        below = load(logits + 64 * j) - top
        total = total + exp(below)  # of what is forbidden it is 0
        chosen_log = select(chosen == j, below, chosen_log)
    newest = chosen_log - log(total)
    ratio = exp(newest - load(log_prob))
    store(advantage, load(advantage) * select(ratio < 1.0, ratio, 1.0))
    store(log_prob, newest)


@compiled
def _loss_unit(
    logits, slopes, width, n_actions, action, log_prob, value, advantage, target, mask, importance, scaling, hyper, sums
):
    """PPO's loss and its slope for one unit of 16 samples.

    `logits`, `slopes`: addresses of f32 `[width, 16]`. `action` u32[16], the rest f32[16] addresses, `mask` that of u32
    `[ceil(n_actions / 32), 16]` or 0; `importance` multiplies the normalised advantages. `scaling`: (mean, 1 /
    deviation) of the advantages, factor of values and returns, 1 / samples of the minibatch. Adds to `sums`, f32
    `[SUMS, 16]`. Schulman et al., "Proximal Policy Optimization Algorithms", 2017, equations 7 and 9.
    """
    mean, inverse_deviation, reward_scale, share = scaling
    clip, clip_value, value_coef, entropy_coef = hyper
    top = largest_allowed(logits, n_actions, mask)
    total, surprise, chosen_log = splat(0.0), splat(0.0), splat(0.0)
    chosen = load_u32(action)
    for j in range(n_actions):
        below = load(logits + 64 * j) - top
        weight = exp(below)
        if mask > 0:
            weight = select(below < 0.5 * FORBIDDEN, 0.0, weight)
        total = total + weight
        surprise = fma(weight, below, surprise)
        chosen_log = select(chosen == j, below, chosen_log)
        store(slopes + 64 * j, weight)
    inverse = 1.0 / total
    log_total = log(total)
    entropy = log_total - surprise * inverse

    difference = chosen_log - log_total - load(log_prob)
    ratio = exp(difference)
    gain = (load(advantage) - mean) * (inverse_deviation * importance)
    clipped_ratio = minimum(maximum(ratio, 1.0 - clip), 1.0 + clip)
    blocked = ((gain > 0.0) & (ratio > 1.0 + clip)) | ((gain < 0.0) & (ratio < 1.0 - clip))
    pull = select(blocked, 0.0, gain * ratio) * share
    bonus = inverse * (entropy_coef * share)
    constant = inverse * pull + bonus * (entropy - log_total - top)
    for j in range(n_actions):
        slope = load(slopes + 64 * j) * fma(bonus, load(logits + 64 * j), constant)
        store(slopes + 64 * j, slope - select(chosen == j, pull, 0.0))

    estimate = load(logits + 64 * n_actions)
    goal = load(target) * reward_scale
    error = estimate - goal
    square = error * error
    value_pull = error
    if clip_value:
        before = load(value) * reward_scale
        move = estimate - before
        clipped_error = before + minimum(maximum(move, -clip), clip) - goal
        clipped_square = clipped_error * clipped_error
        value_pull = select((clipped_square > square) & (vector.absolute(move) > clip), 0.0, error)
        square = maximum(square, clipped_square)
    store(slopes + 64 * n_actions, value_pull * (2.0 * value_coef * share))
    for j in range(n_actions + 1, width):
        store(slopes + 64 * j, 0.0)

    store(sums, load(sums) - minimum(ratio * gain, clipped_ratio * gain))
    store(sums + 64, load(sums + 64) + square)
    store(sums + 128, load(sums + 128) + entropy)
    store(sums + 192, load(sums + 192) + (ratio - 1.0 - difference))
    store(sums + 256, load(sums + 256) + select(vector.absolute(ratio - 1.0) > clip, 1.0, 0.0))


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
    are. `scaling`, `hyper`, `sums`: see `_loss_unit`. `scratch`: address of `learn_scratch` floats.
    """
    obs, action, log_prob, value, advantage, target, mask, begins, states, length = data
    layers = plan.shape[0]
    n_obs, in_width, out_width = plan[0, N_OBS], plan[0, IN_WIDTH], plan[layers - 1, OUT_WIDTH]
    n_in, grid, pairs = plan[0, N_IN], plan[0, ROWS] > 0, plan[0, ITEMS] > 0
    n_actions, outputs = plan[0, N_ACTIONS], outputs_width(plan)
    mask_bytes = (n_actions + 31) // 32 * 64
    width = in_width
    for layer in range(layers):
        width = max(width, plan[layer, OUT_WIDTH])
    remembers, memory_row, wide_memory = plan[0, UNITS], plan[0, MEMORY], 0
    if remembers > 0:
        wide_memory = plan[memory_row, OUT_WIDTH] // 4
    chunk = length if remembers > 0 else CHUNK
    slope_in = scratch
    slope_out = slope_in + chunk * 64 * width
    unit_logits = slope_out + chunk * 64 * width
    unit_slopes = unit_logits + 64 * outputs
    transposed = unit_slopes + 64 * outputs
    inputs = transposed + (plan[layers - 1, BIASES] + out_width) * 4
    front = inputs + chunk * 64 * (in_width + wide_memory)  # behind the activations
    for layer in range(layers):
        front = front + chunk * 64 * plan[layer, OUT_WIDTH]
    chosen = front + 2 * plan[0, ROWS] * plan[0, COLUMNS] * 64
    chosen_bytes = plan[0, MAPS] * plan[0, SWEEPS] * plan[0, ROWS] * plan[0, COLUMNS] * 64
    said, said_slopes, memory = unit_logits, unit_slopes, front + 64 * out_width
    more = memory + (plan[0, ITEMS] + plan[0, SPACES]) * (plan[0, TRAITS] + plan[0, WIDTH]) * 64
    if pairs:
        said, said_slopes = front, front  # behind context and value both are 0

    _transpose_weights(plan, params, transposed)
    for begin in range(0, units.size, chunk):
        count = min(chunk, units.size - begin)
        samples = count * 16
        for u in range(begin + chunk, min(begin + 2 * chunk, units.size)):
            _bring_near(data, n_obs, units[u])
        for u in range(count):
            seen = obs + units[begin + u] * n_obs * 64
            if normal.shape[0] > 0:
                for k in range(n_obs):
                    store(slope_in + k * 64, (load(seen + k * 64) - normal[k, 0]) * normal[k, 1])
                seen = slope_in
            if grid or pairs:
                in_front(plan, params, seen, slope_out, front, chosen + u * chosen_bytes)
                seen = slope_out
            for k in range(0, in_width, 16):
                transpose(
                    seen + k * 64,
                    64,
                    inputs + (u * 16 * in_width + k) * 4,
                    in_width * 4,
                    max(0, min(16, n_in - k)),
                )

        source = inputs
        for layer in range(layers):
            row, wide, halves = plan[layer, IN_WIDTH] * 4, plan[layer, OUT_WIDTH] * 4, plan[layer, HALVES]
            depth = plan[layer, N_IN] // halves
            result = source + chunk * 16 * row
            for j in range(0, wide, 128):
                first = half_of(j, wide, halves) * depth
                for r in range(0, samples, 8):
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
                source = result + chunk * 16 * wide
                remember_rows(
                    wide_memory,
                    remembers,
                    params + plan[0, RECALL] * 4,
                    result,
                    source,
                    front,
                    count,
                    chunk,
                    begins + units[begin] * 64,
                    states + (units[begin] // (2 * length) * 2 + units[begin] % 2) * remembers * 128,
                )

        for u in range(count):
            for j in range(0, out_width, 16):
                transpose(source + (u * 16 * out_width + j) * 4, out_width * 4, said + j * 64, 64, 16)
            at = units[begin + u] * 64
            bits = mask + units[begin + u] * mask_bytes if mask > 0 else 0
            if pairs:
                call_with(
                    plan[0, JUDGE],
                    (*pair_sizes(plan), params, obs + at * n_obs, said, 64, bits, 1, unit_logits, 64, memory),
                )
            if loss[0] == CORRECT_LAG:
                _correct_unit(unit_logits, n_actions, action + at, log_prob + at, advantage + at, bits)
                continue
            if loss[0] != 0:
                call_with(loss[0], (unit_logits, unit_slopes, outputs, n_actions, bits, begin + u, loss[1], sums))
            else:
                _loss_unit(
                    unit_logits,
                    unit_slopes,
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
                    (*pair_sizes(plan), params, obs + at * n_obs, unit_slopes, memory, more, said_slopes, gradient),
                )
            for j in range(0, out_width, 16):
                transpose(said_slopes + j * 64, 64, slope_out + (u * 16 * out_width + j) * 4, out_width * 4, 16)

        if loss[0] == CORRECT_LAG:
            continue
        for layer in range(layers - 1, -1, -1):
            row, wide, halves = plan[layer, IN_WIDTH] * 4, plan[layer, OUT_WIDTH] * 4, plan[layer, HALVES]
            depth = plan[layer, N_IN] // halves
            if layer == memory_row:
                source = source - chunk * 16 * wide
                recall_slopes(
                    wide_memory,
                    remembers,
                    transposed + plan[0, RECALL] * 4,
                    source,
                    slope_out,
                    slope_in,
                    front,
                    front + chunk * 256 * wide_memory,
                    count,
                    chunk,
                    begins + units[begin] * 64,
                    gradient + plan[0, RECALL] * 4,
                )
                slope_in, slope_out = slope_out, slope_in
            source = source - chunk * 16 * row
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
            if layer > 0 or grid or pairs:
                depth = plan[layer, N_OUT] // halves
                for k in range(0, row, 128):
                    first = half_of(k, row, halves) * depth
                    for r in range(0, samples, 8):
                        input_slope_block(
                            slope_out + r * wide + first * 4,
                            wide,
                            transposed + plan[layer, WEIGHTS] * 4 + first * row + k,
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
        if grid or pairs:
            _add_front_gradient(
                plan, params, obs, units[begin : begin + count], slope_out, slope_in, front, chosen, gradient
            )


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
