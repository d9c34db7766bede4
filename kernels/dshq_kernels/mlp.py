"""The policy and value network on vectors of 16 lanes: forward for playing; forward, backward and Adam for learning.

Playing keeps games as lanes, `x[k, lane]`, as the rules write them. Learning keeps samples as rows, so that all three
products of backpropagation are the same block of block.py and only observations and logits are transposed, 16 x 16 at
a time.

Layer sizes are run-time numbers: nothing is compiled per shape. Widths are padded to multiples of 32 inside; padding
weighs zero, gets gradient zero and so stays zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numba import njit

from dshq_kernels import vector
from dshq_kernels.atomics import load_acquire
from dshq_kernels.block import forward_block, input_slope_block, play_block, weight_slope_block
from dshq_kernels.elementary import exp, log
from dshq_kernels.grid import spread_lanes, spread_slope
from dshq_kernels.layers import parse
from dshq_kernels.vector import (
    compiled,
    copy_bytes,
    fma,
    lane_sum,
    load,
    load_u32,
    maximum,
    minimum,
    prefetch,
    select,
    splat,
    sqrt,
    store,
    transpose,
)

N_IN, IN_WIDTH, N_OUT, OUT_WIDTH, WEIGHTS, BIASES, N_OBS, ROWS, COLUMNS, PLANES, MAPS, SWEEPS = range(12)
"""Columns of a plan: a dense layer's sizes, padded sizes, and where its weights and biases begin (in floats). In the
first row also the observations, and the grid in front of it (grid.py), 0 where there is none: its weights begin the
block."""
ACTIVATIONS = {"none": 0, "tanh": 1, "relu": 2}
CHUNK = 4
"""Units of 16 samples that learning takes through the network at once; with a 2x64 network they fit the second
cache."""
SUMS = 5
"""Sums over samples that the loss keeps: policy loss, squared value error, entropy, approximate KL, clipped samples."""
FORBIDDEN = -1e9
"""The logit of an action that a mask forbids: its probability is 0 in float32."""
ADAM_BETA1, ADAM_BETA2 = 0.9, 0.999
"""Kingma and Ba, "Adam", 2015, their defaults."""


def padded(width: int) -> int:
    """`width` rounded up to the 32 columns of a block."""
    return -(-int(width) // 32) * 32


def make_plan(layers: Sequence[int]) -> np.ndarray:
    """int64 `[n_dense, 12]` for the sizes `[n_obs, (grid,) hidden..., n_outputs]`: the columns named above."""
    ahead, dense = parse(layers)
    if len(dense) < 2 or min(dense) < 1:
        raise ValueError(f"a network needs at least two sizes, each at least 1; got {list(layers)}")
    offset = padded(sum(n * width + width for n, width in [ahead.shape])) if ahead else 0
    plan = np.zeros((len(dense) - 1, 12), np.int64)
    for row, (n_in, n_out) in zip(plan, itertools.pairwise(dense), strict=True):
        biases = offset + padded(n_in) * padded(n_out)
        row[:N_OBS] = n_in, padded(n_in), n_out, padded(n_out), offset, biases
        offset = biases + padded(n_out)
    plan[0, N_OBS] = layers[0]
    if ahead:
        plan[0, ROWS:] = [-n for n in ahead.written]
    return plan


def plan_floats(plan: np.ndarray) -> int:
    """Floats of a padded parameter block."""
    return int(plan[-1, BIASES] + plan[-1, OUT_WIDTH])


def plan_width(plan: np.ndarray) -> int:
    """The widest padded layer, input included."""
    return int(plan[:, [IN_WIDTH, OUT_WIDTH]].max())


def pack(plan: np.ndarray, blob: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The flat float32 policy blob spread into a padded parameter block (`out`, or a new aligned one)."""
    out = vector.aligned(plan_floats(plan)) if out is None else out
    used = sum(weights.size + biases.size for weights, biases in _views(plan, out))
    if blob.size != used:
        raise ValueError(f"this network has {used} parameters, the blob holds {blob.size}: it is of another shape")
    out[:] = 0
    at = 0
    for weights, biases in _views(plan, out):
        for view in (weights, biases):
            view[...] = blob[at : at + view.size].reshape(view.shape)
            at += view.size
    return out


def unpack(plan: np.ndarray, params: np.ndarray) -> np.ndarray:
    """The flat float32 policy blob of a padded parameter block."""
    return np.concatenate([view.ravel() for pair in _views(plan, params) for view in pair]).astype(np.float32)


def _views(plan, params):
    planes, wide = int(plan[0, PLANES]), 2 * int(plan[0, MAPS])
    if planes:
        yield params[: planes * wide].reshape(planes, wide), params[planes * wide :][:wide]
    for n_in, in_width, n_out, out_width, w, b in plan[:, :N_OBS].tolist():
        yield params[w : w + in_width * out_width].reshape(in_width, out_width)[:n_in, :n_out], params[b : b + n_out]


# Playing ------------------------------------------------------------------------------------------------------------


def play_scratch(plan: np.ndarray) -> int:
    """Floats of scratch memory that `forward_lanes` needs: two layers' outputs, and what a grid needs."""
    cells = int(plan[0, ROWS] * plan[0, COLUMNS])
    return (4 * plan_width(plan) + (2 * int(plan[0, IN_WIDTH]) + 2 * cells if cells else 0)) * vector.LANES


@njit(nogil=True, error_model="numpy", inline="always")
def look_ahead(plan, params, obs, features, scratch, chosen):
    """What the first dense layer reads where there is a grid, f32 `[n_in, 16]` at address `features`: the grid's
    features, then the other observations. `scratch`: 2 cells units; `chosen`: see `spread_lanes`.
    """
    rows, columns, planes, maps = plan[0, ROWS], plan[0, COLUMNS], plan[0, PLANES], plan[0, MAPS]
    cells = rows * columns
    spread_lanes(
        rows, columns, planes, maps, plan[0, SWEEPS], params, obs, features, scratch, scratch + cells * 64, chosen
    )
    others = plan[0, N_OBS] - (planes + 1) * cells
    copy_bytes(features + 4 * maps * 64, obs + (planes + 1) * cells * 64, others * 64)


@compiled
def forward_lanes(plan, activation, params, x, x_other, scratch):
    """Runs two units of 16 games at addresses `x`, `x_other` (f32 `[n_obs, 16]`) through the network at address
    `params`.

    Returns the address, within `scratch`, of f32 `[n_outputs, 2, 16]`: logits, then the value, of both units.
    """
    width = 0
    for layer in range(plan.shape[0]):
        width = max(width, plan[layer, IN_WIDTH], plan[layer, OUT_WIDTH])
    source, source_row, source_half = x, 64, x_other - x
    if plan[0, ROWS] > 0:
        source, source_half = scratch + 256 * width, plan[0, IN_WIDTH] * 64
        rest = source + 2 * source_half
        look_ahead(plan, params, x, source, rest, 0)
        look_ahead(plan, params, x_other, source + source_half, rest, 0)
    target = scratch
    last = plan.shape[0] - 1
    for layer in range(plan.shape[0]):
        row_bytes = plan[layer, OUT_WIDTH] * 4
        weights, biases = params + plan[layer, WEIGHTS] * 4, params + plan[layer, BIASES] * 4
        target = scratch + (layer & 1) * 128 * width
        for j in range(0, plan[layer, N_OUT], 8):
            play_block(
                weights + j * 4,
                row_bytes,
                source,
                source_row,
                source_half,
                plan[layer, N_IN],
                target + j * 128,
                128,
                64,
                biases + j * 4,
                activation if layer < last else 0,
            )
        source, source_row, source_half = target, 128, 64
    return target


# Learning -----------------------------------------------------------------------------------------------------------


def learn_scratch(plan: np.ndarray) -> int:
    """Floats of scratch memory that `add_gradient` needs: activations, two slopes, one unit of logits and of slopes,
    weights transposed; for a grid two maps and the ways of its sweeps."""
    widths = int(plan[:, OUT_WIDTH].sum() + plan[0, IN_WIDTH] + 2 * plan_width(plan))
    cells = int(plan[0, ROWS] * plan[0, COLUMNS])
    ahead = cells * (2 + CHUNK * int(plan[0, MAPS] * plan[0, SWEEPS]))
    return CHUNK * 16 * widths + 16 * (ahead + 2 * int(plan[-1, OUT_WIDTH])) + plan_floats(plan)


@compiled
def _transpose_weights(plan, params, target):
    """The weights of every layer whose input has a slope as `[n_out, n_in]` at the same places of the block at address
    `target`."""
    for layer in range(0 if plan[0, ROWS] > 0 else 1, plan.shape[0]):
        n_in, n_out = plan[layer, IN_WIDTH], plan[layer, OUT_WIDTH]
        base = plan[layer, WEIGHTS] * 4
        for k in range(0, n_in, 16):
            for j in range(0, n_out, 16):
                transpose(
                    params + base + (k * n_out + j) * 4, n_out * 4, target + base + (j * n_in + k) * 4, n_in * 4, 16
                )


@njit(nogil=True, error_model="numpy", inline="always")
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
    if mask > 0:
        for j in range(n_actions):
            allowed = (load_u32(mask + (j >> 5) * 64) >> (j & 31)) & 1
            store(logits + 64 * j, select(allowed != 0, load(logits + 64 * j), FORBIDDEN))
    top = load(logits)
    for j in range(1, n_actions):
        logit = load(logits + 64 * j)
        top = select(logit > top, logit, top)  # one instruction; `maximum` minds NaN and takes three
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
    """Begins to load a unit's samples; they lie scattered, and waiting for them took 10 % of an update (measured)."""
    for k in range(n_obs):
        prefetch(data[0] + (unit * n_obs + k) * 64)
    for field in range(1, 6):
        prefetch(data[field] + unit * 64)


@compiled
def add_gradient(plan, activation, params, data, units, importance, normal, scaling, hyper, gradient, sums, scratch):
    """Adds the gradient of PPO's loss over `units` (int64 indices) to the padded block at address `gradient`.

    `data`: addresses of obs f32 `[unit, n_obs, 16]`, action i32, log_prob, value, advantage and return f32 `[unit,
    16]`, mask u32 `[unit, ceil(n_actions / 32), 16]` or 0 where there is none. `importance`: f32 per entry of `units`.
    `normal`: f32 `[n_obs, 2]`, mean and 1 / deviation of the observations, or of length 0 where they are taken as they
    are. `scaling`, `hyper`, `sums`: see `_loss_unit`. `scratch`: address of `learn_scratch` floats, its transposed
    weights filled.
    """
    obs, action, log_prob, value, advantage, target, mask = data
    layers = plan.shape[0]
    n_obs, in_width, out_width = plan[0, N_OBS], plan[0, IN_WIDTH], plan[layers - 1, OUT_WIDTH]
    n_in, ahead = plan[0, N_IN], plan[0, ROWS] > 0
    n_actions = plan[layers - 1, N_OUT] - 1
    mask_bytes = (n_actions + 31) // 32 * 64
    width = in_width
    for layer in range(layers):
        width = max(width, plan[layer, OUT_WIDTH])
    slope_in = scratch
    slope_out = slope_in + CHUNK * 64 * width
    unit_logits = slope_out + CHUNK * 64 * width
    unit_slopes = unit_logits + 64 * out_width
    transposed = unit_slopes + 64 * out_width
    inputs = transposed + (plan[layers - 1, BIASES] + out_width) * 4
    maps = inputs
    if ahead:  # behind the activations
        maps = inputs + CHUNK * 64 * in_width
        for layer in range(layers):
            maps = maps + CHUNK * 64 * plan[layer, OUT_WIDTH]
    chosen = maps + 2 * plan[0, ROWS] * plan[0, COLUMNS] * 64
    chosen_bytes = plan[0, MAPS] * plan[0, SWEEPS] * plan[0, ROWS] * plan[0, COLUMNS] * 64

    for begin in range(0, units.size, CHUNK):
        count = min(CHUNK, units.size - begin)
        samples = count * 16
        for u in range(begin + CHUNK, min(begin + 2 * CHUNK, units.size)):
            _bring_near(data, n_obs, units[u])
        for u in range(count):
            seen = obs + units[begin + u] * n_obs * 64
            if normal.shape[0] > 0:
                for k in range(n_obs):
                    store(slope_in + k * 64, (load(seen + k * 64) - normal[k, 0]) * normal[k, 1])
                seen = slope_in
            if ahead:
                look_ahead(plan, params, seen, slope_out, maps, chosen + u * chosen_bytes)
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
            depth, row, wide = plan[layer, N_IN], plan[layer, IN_WIDTH] * 4, plan[layer, OUT_WIDTH] * 4
            result = source + CHUNK * 16 * row
            for j in range(0, wide, 128):
                for r in range(0, samples, 8):
                    forward_block(
                        source + r * row,
                        row,
                        params + plan[layer, WEIGHTS] * 4 + j,
                        wide,
                        64,
                        depth,
                        result + r * wide + j,
                        wide,
                        64,
                        params + plan[layer, BIASES] * 4 + j,
                        activation if layer < layers - 1 else 0,
                    )
            source = result

        for u in range(count):
            for j in range(0, out_width, 16):
                transpose(source + (u * 16 * out_width + j) * 4, out_width * 4, unit_logits + j * 64, 64, 16)
            at = units[begin + u] * 64
            _loss_unit(
                unit_logits,
                unit_slopes,
                out_width,
                n_actions,
                action + at,
                log_prob + at,
                value + at,
                advantage + at,
                target + at,
                mask + units[begin + u] * mask_bytes if mask > 0 else 0,
                importance[begin + u],
                scaling,
                hyper,
                sums,
            )
            for j in range(0, out_width, 16):
                transpose(unit_slopes + j * 64, 64, slope_out + (u * 16 * out_width + j) * 4, out_width * 4, 16)

        for layer in range(layers - 1, -1, -1):
            row, wide = plan[layer, IN_WIDTH] * 4, plan[layer, OUT_WIDTH] * 4
            source = source - CHUNK * 16 * row
            weights = gradient + plan[layer, WEIGHTS] * 4
            for j in range(0, wide, 128):
                for k in range(0, plan[layer, N_IN], 8):
                    weight_slope_block(
                        source + k * 4, row, slope_out + j, wide, 64, samples, weights + k * wide + j, wide, 64, 0, 0
                    )
            for j in range(0, wide, 64):
                total = load(gradient + plan[layer, BIASES] * 4 + j)
                for r in range(samples):
                    total = total + load(slope_out + r * wide + j)
                store(gradient + plan[layer, BIASES] * 4 + j, total)
            if layer > 0 or ahead:
                for k in range(0, row, 128):
                    for r in range(0, samples, 8):
                        input_slope_block(
                            slope_out + r * wide,
                            wide,
                            transposed + plan[layer, WEIGHTS] * 4 + k,
                            row,
                            64,
                            plan[layer, N_OUT],
                            slope_in + r * row + k,
                            row,
                            64,
                            source + r * row + k,
                            activation if layer > 0 else 0,
                        )
                slope_in, slope_out = slope_out, slope_in
        if ahead:
            _add_grid_gradient(
                plan, params, obs, units[begin : begin + count], slope_out, slope_in, maps, chosen, gradient
            )


@compiled
def _add_grid_gradient(plan, params, obs, units, slopes, lanes, maps, chosen, gradient):
    """Adds the gradient of the grid's weights over some units, from the slopes of the first dense layer's inputs, rows
    of samples at address `slopes`; `lanes` is memory for one unit of them, the rest is as in `add_gradient`.
    """
    rows, columns, planes = plan[0, ROWS], plan[0, COLUMNS], plan[0, PLANES]
    row, cells = plan[0, IN_WIDTH] * 4, rows * columns
    for u in range(units.size):
        for k in range(0, plan[0, IN_WIDTH], 16):
            transpose(slopes + u * 16 * row + k * 4, row, lanes + k * 64, 64, 16)
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
            maps,
            maps + cells * 64,
            gradient,
        )


@compiled
def adam_step(count, params, moment, square, gradients, stride, threads, step, learning_rate, epsilon, max_norm):
    """One Adam step on `count` floats with the sum of `threads` gradients, `stride` bytes apart, scaled down to
    `max_norm` (0: not).

    Everything by address. Returns the gradient's length before scaling; where it is not finite nothing is changed.
    """
    total = splat(0.0)
    for at in range(0, count * 4, 64):
        slope = load(gradients + at)
        for thread in range(1, threads):
            slope = slope + load(gradients + thread * stride + at)
        total = fma(slope, slope, total)
    norm = np.sqrt(np.float64(lane_sum(total)))
    if not np.isfinite(norm):
        return norm
    scale = np.float32(min(1.0, max_norm / (norm + 1e-6)) if max_norm > 0 else 1.0)
    size = np.float32(learning_rate / (1.0 - ADAM_BETA1**step))
    correction = np.float32(1.0 / np.sqrt(1.0 - ADAM_BETA2**step))
    for at in range(0, count * 4, 64):
        slope = load(gradients + at)
        for thread in range(1, threads):
            slope = slope + load(gradients + thread * stride + at)
        slope = slope * scale
        m = fma(slope - load(moment + at), 1.0 - ADAM_BETA1, load(moment + at))
        v = fma(slope * slope, 1.0 - ADAM_BETA2, load(square + at) * ADAM_BETA2)
        store(moment + at, m)
        store(square + at, v)
        store(params + at, load(params + at) - size * m / fma(sqrt(v), correction, np.float32(epsilon)))
    return norm


@compiled
def _meet(counter, threads, meeting):
    """Returns once all `threads` have come to the `meeting`-th meeting (1, 2, ...) at the int64 counter's address."""
    vector.atomic_add(counter, 1)
    while load_acquire(counter) < meeting * threads:
        vector.yield_thread()


@compiled
def learn(
    thread,
    threads,
    meeting_point,
    plan,
    activation,
    state,
    gradients,
    scratch,
    data,
    order,
    importance,
    bounds,
    normal,
    scaling,
    mask,
    hyper,
    adam,
    metrics,
):
    """One thread's part of an update: all `threads` call it together; each ends with the same parameters.

    `meeting_point`: address of an int64 that is 0. `state`: f32 `[threads, 3, n]` of parameters and Adam's two
    moments, equal in all threads. `gradients`: f32 `[2, threads, n + 16]`. `scratch`: f32 `[threads, learn_scratch]`.
    `order`: int64 units in learning order; minibatch i is `order[bounds[i]:bounds[i + 1]]`; `importance`: f32, a factor
    of the advantages for each. `normal`: see `add_gradient`. `scaling`: advantage mean and 1 / deviation, factor of
    values and returns. `mask`: f32 `[n]`, 0 where nothing is to be learned, or of length 0. `adam`: (learning rate,
    epsilon, max gradient norm, largest approximate KL or 0, steps taken so far). `metrics`: f64 `[threads, SUMS + 4]`,
    gets sums over this thread's samples, then: samples, sum of gradient norms, steps applied, minibatches skipped.

    Threads add their gradients in a fixed order and each applies the same step to its own copy: one meeting a
    minibatch.
    """
    n = plan[-1, BIASES] + plan[-1, OUT_WIDTH]
    learning_rate, epsilon, max_norm, target_kl, step = adam
    params, moment, square = (state[thread, 0].ctypes.data, state[thread, 1].ctypes.data, state[thread, 2].ctypes.data)
    work = scratch[thread].ctypes.data
    out_width = plan[-1, OUT_WIDTH]
    width = plan[0, IN_WIDTH]
    for layer in range(plan.shape[0]):
        width = max(width, plan[layer, OUT_WIDTH])
    transposed = work + CHUNK * 128 * width + 128 * out_width
    stride = gradients.strides[1]
    sums = np.zeros((SUMS, 16), np.float32)
    for i in range(bounds.size - 1):
        units = bounds[i + 1] - bounds[i]
        first, last = bounds[i] + units * thread // threads, bounds[i] + units * (thread + 1) // threads
        mine = gradients[i & 1, thread]
        mine[:] = 0
        sums[:] = 0
        _transpose_weights(plan, params, transposed)
        share = np.float32(1.0 / (units * 16))
        add_gradient(
            plan,
            activation,
            params,
            data,
            order[first:last],
            importance[first:last],
            normal,
            (*scaling, share),
            hyper,
            mine.ctypes.data,
            sums.ctypes.data,
            work,
        )
        for k in range(mask.size):
            mine[k] *= mask[k]
        mine[n] = sums[3].sum()
        if threads > 1:
            _meet(meeting_point, threads, i + 1)
        if target_kl > 0:
            divergence = 0.0
            for other in range(threads):
                divergence += gradients[i & 1, other, n]
            if divergence * share > target_kl:
                break
        norm = adam_step(
            n,
            params,
            moment,
            square,
            gradients[i & 1].ctypes.data,
            stride,
            threads,
            step + 1,
            learning_rate,
            epsilon,
            max_norm,
        )
        if not np.isfinite(norm):
            metrics[thread, SUMS + 3] += 1
            continue
        step += 1
        for k in range(SUMS):
            metrics[thread, k] += np.float64(sums[k].sum())
        metrics[thread, SUMS] += (last - first) * 16
        metrics[thread, SUMS + 1] += norm
        metrics[thread, SUMS + 2] += 1
