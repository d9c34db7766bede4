"""The policy and value network on vectors of 16 lanes: forward for playing; forward, backward and Adam for learning.

One kernel does all the multiplying: a block of 8 x 32 outputs held in 16 registers while it runs over the depth (after the
register blocking of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008). Playing keeps games
as lanes, `x[k, lane]`, as the rules write them. Learning keeps samples as rows, so that all three products of
backpropagation are the same block and only observations and logits are transposed, 16 x 16 at a time.

Layer sizes are run-time numbers: nothing is compiled per shape. Widths are padded to multiples of 32 inside; padding weighs
zero, gets gradient zero and so stays zero.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils, types

from dshq_kernels import vector
from dshq_kernels.atomics import load_acquire
from dshq_kernels.vector import (
    f32x16,
    floor,
    fma,
    lane_sum,
    load,
    load_u32,
    maximum,
    minimum,
    select,
    splat,
    sqrt,
    store,
    to_u32,
    transpose,
)

N_IN, IN_WIDTH, N_OUT, OUT_WIDTH, WEIGHTS, BIASES = range(6)
"""Columns of a plan: a layer's sizes, padded sizes, and where its weights and biases begin (in floats)."""
ACTIVATIONS = {"none": 0, "tanh": 1, "relu": 2}
CHUNK = 4
"""Units of 16 samples that learning takes through the network at once; with a 2x64 network they fit the second cache."""
SUMS = 5
"""Sums over samples that the loss keeps: policy loss, squared value error, entropy, approximate KL, clipped samples."""
ADAM_BETA1, ADAM_BETA2 = 0.9, 0.999
"""Kingma and Ba, "Adam", 2015, their defaults."""

TANH_LIMIT = 8.0
TANH_P = (0.9999990463256836, 0.12699781358242035, 0.0026844951789826155, 7.083449418132659e-06, -6.019992060402046e-09)
TANH_Q = (1.0, 0.46032774448394775, 0.022797390818595886, 0.00019529907149262726)
"""tanh(x) = x P(x^2) / Q(x^2) for |x| <= 8, constant beyond: fitted for this file by reweighted least squares; the largest
error against the true tanh is 5e-7, rounding included (measured over 2 million points in -12..12)."""


def padded(width: int) -> int:
    """`width` rounded up to the 32 columns of a block."""
    return -(-int(width) // 32) * 32


def make_plan(layers: Sequence[int]) -> np.ndarray:
    """int64 `[n_layers, 6]` for the sizes `[n_obs, hidden..., n_outputs]`: the columns named above."""
    if len(layers) < 2 or min(layers) < 1:
        raise ValueError(f"a network needs at least two sizes, each at least 1; got {list(layers)}")
    rows, offset = [], 0
    for n_in, n_out in itertools.pairwise(layers):
        biases = offset + padded(n_in) * padded(n_out)
        rows.append((n_in, padded(n_in), n_out, padded(n_out), offset, biases))
        offset = biases + padded(n_out)
    return np.array(rows, np.int64)


def plan_floats(plan: np.ndarray) -> int:
    """Floats of a padded parameter block."""
    return int(plan[-1, BIASES] + plan[-1, OUT_WIDTH])


def plan_width(plan: np.ndarray) -> int:
    """The widest padded layer, input included."""
    return int(plan[:, [IN_WIDTH, OUT_WIDTH]].max())


def pack(plan: np.ndarray, blob: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The flat float32 policy blob spread into a padded parameter block (`out`, or a new aligned one)."""
    out = vector.aligned(plan_floats(plan)) if out is None else out
    used = sum(int(row[N_IN] * row[N_OUT] + row[N_OUT]) for row in plan)
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
    for n_in, in_width, n_out, out_width, w, b in plan.tolist():
        yield params[w : w + in_width * out_width].reshape(in_width, out_width)[:n_in, :n_out], params[b : b + n_out]


# The 8 x 32 block ---------------------------------------------------------------------------------------------------

_F32, _I64, _V = ir.FloatType(), ir.IntType(64), f32x16.llvm
_ROWS, _COLUMNS = 8, 2


def _constant(value):
    return ir.Constant(_V, [value] * vector.LANES)


def _emit_tanh(builder, x):
    fused = lambda a, b, c: vector._library(builder, "fma", a, b, c)  # noqa: E731
    x = vector._library(
        builder, "minnum", vector._library(builder, "maxnum", x, _constant(-TANH_LIMIT)), _constant(TANH_LIMIT)
    )
    square = builder.fmul(x, x)
    parts = []
    for coefficients in (TANH_P, TANH_Q):
        value = _constant(coefficients[-1])
        for coefficient in coefficients[-2::-1]:
            value = fused(value, square, _constant(coefficient))
        parts.append(value)
    return builder.fdiv(builder.fmul(x, parts[0]), parts[1])


def _emit_relu(builder, x):
    return vector._library(builder, "maxnum", x, _constant(0.0))


def _emit_tanh_slope(builder, slope, y):
    return builder.fmul(slope, vector._library(builder, "fma", builder.fneg(y), y, _constant(1.0)))


def _emit_relu_slope(builder, slope, y):
    return builder.select(builder.fcmp_ordered(">", y, _constant(0.0)), slope, _constant(0.0))


def _make_block(doc, *, rows_adjacent, start, finish):
    """An intrinsic `block(a, a_stride, b, b_stride, b_half, depth, c, c_stride, c_half, extra, activation)`.

    c[r, n] = finish(start + sum over k < depth of a[r, k] b[k, n]) for 8 rows r and 32 columns n, the columns as two vectors
    `half` bytes apart. Addresses and strides in bytes. `a_stride` steps k if `rows_adjacent` (neighbouring rows are neighbouring
    floats), else it steps r. `start`: "row bias" / "column bias" (8 or 32 floats at `extra`), "zero" or "c" (adds to c).
    `finish`: "activate", "slope" (times the activation's derivative, where its outputs lie at `extra` as c lies at c), "keep".
    """

    @vector.intrinsic
    def block(typingctx, a, a_stride, b, b_stride, b_half, depth, c, c_stride, c_half, extra, activation):
        def lower(context, builder, sig, args):
            a, a_stride, b, b_stride, b_half, depth, c, c_stride, c_half, extra, activation = args
            whole = lambda value: ir.Constant(_I64, value)  # noqa: E731

            def vector_at(address):
                value = builder.load(builder.inttoptr(address, _V.as_pointer()))
                value.align = 4
                return value

            def spread_at(address):
                return vector._splat(builder, builder.load(builder.inttoptr(address, _F32.as_pointer())), _V)

            def place(base, row, column):
                column_offset = c_half if column else whole(0)
                return builder.add(builder.add(base, builder.mul(whole(row), c_stride)), column_offset)

            def first(row, column):
                if start == "zero":
                    return _constant(0.0)
                if start == "c":
                    return vector_at(place(c, row, column))
                if start == "row bias":
                    return spread_at(builder.add(extra, whole(4 * row)))
                return vector_at(builder.add(extra, whole(64 * column)))

            cells = [(row, column) for row in range(_ROWS) for column in range(_COLUMNS)]
            sums = {cell: cgutils.alloca_once(builder, _V) for cell in cells}
            for cell in cells:
                builder.store(first(*cell), sums[cell])
            a_rows = [
                builder.add(a, whole(4 * r) if rows_adjacent else builder.mul(whole(r), a_stride)) for r in range(_ROWS)
            ]
            with cgutils.for_range(builder, depth) as loop:
                a_step = builder.mul(loop.index, a_stride if rows_adjacent else whole(4))
                b_row = builder.add(b, builder.mul(loop.index, b_stride))
                columns = [vector_at(b_row), vector_at(builder.add(b_row, b_half))]
                for row in range(_ROWS):
                    factor = spread_at(builder.add(a_rows[row], a_step))
                    for column in range(_COLUMNS):
                        cell = sums[row, column]
                        builder.store(
                            vector._library(builder, "fma", factor, columns[column], builder.load(cell)), cell
                        )

            emitters = {
                "activate": ((1, _emit_tanh), (2, _emit_relu)),
                "slope": ((1, _emit_tanh_slope), (2, _emit_relu_slope)),
                "keep": (),
            }[finish]
            for code, emit in emitters:
                with builder.if_then(builder.icmp_signed("==", activation, whole(code))):
                    for cell in cells:
                        known = [vector_at(place(extra, *cell))] if finish == "slope" else []
                        builder.store(emit(builder, builder.load(sums[cell]), *known), sums[cell])
            for cell in cells:
                builder.store(builder.load(sums[cell]), builder.inttoptr(place(c, *cell), _V.as_pointer())).align = 4
            return context.get_dummy_value()

        return types.void(*[types.int64] * 11), lower

    block.__doc__ = doc
    return block


_play_block = _make_block(
    "outputs as rows, 32 games as columns", rows_adjacent=True, start="row bias", finish="activate"
)
_forward_block = _make_block(
    "samples as rows, outputs as columns", rows_adjacent=False, start="column bias", finish="activate"
)
_input_slope_block = _make_block(
    "samples as rows, inputs as columns", rows_adjacent=False, start="zero", finish="slope"
)
_weight_slope_block = _make_block("inputs as rows, outputs as columns", rows_adjacent=True, start="c", finish="keep")


# Elementary functions -----------------------------------------------------------------------------------------------


@njit(inline="always")
def exp(x):
    """e^x of a f32x16, relative error 2e-7 (measured) in -87..87, clamped beyond: 2^n times the Taylor series on |r| <= ln(2)/2."""
    x = minimum(maximum(x, -87.0), 87.0)
    n = floor(fma(x, 1.4426950408889634, 0.5))
    r = fma(n, -0.693359375, x)
    r = fma(n, 2.12194440e-4, r)  # ln 2 in two parts (Cody and Waite, 1980), so that n ln 2 loses nothing
    y = fma(r, 1 / 720, 1 / 120)
    y = fma(y, r, 1 / 24)
    y = fma(y, r, 1 / 6)
    y = fma(y, r, 0.5)
    y = fma(y, r, 1.0)
    y = fma(y, r, 1.0)
    return y * vector.bits_to_f32((to_u32(n) + 127) << 23)


@njit(inline="always")
def log(x):
    """Natural logarithm of a positive, normal f32x16, error 2e-7 (measured): 2 artanh((m - 1) / (m + 1)) with m in 0.7..1.4."""
    bits = vector.bits_to_u32(x)
    exponent = vector.to_f32((bits >> 23) & 255) - 127.0
    m = vector.bits_to_f32((bits & 0x7FFFFF) | 0x3F800000)
    large = m > 1.4142135
    m = select(large, m * 0.5, m)
    exponent = select(large, exponent + 1.0, exponent)
    s = (m - 1.0) / (m + 1.0)
    q = s * s
    series = fma(fma(fma(fma(q, 1 / 9, 1 / 7), q, 1 / 5), q, 1 / 3), q, 1.0)
    return fma(exponent, 0.6931471805599453, s * series * 2.0)


# Playing ------------------------------------------------------------------------------------------------------------


def play_scratch(plan: np.ndarray) -> int:
    """Floats of scratch memory that `forward_lanes` needs."""
    return 4 * plan_width(plan) * vector.LANES


@njit(nogil=True, error_model="numpy", cache=True)
def forward_lanes(plan, activation, params, x, x_other, scratch):
    """Runs two units of 16 games at addresses `x`, `x_other` (f32 `[n_obs, 16]`) through the network at address `params`.

    Returns the address, within `scratch`, of f32 `[n_outputs, 2, 16]`: logits, then the value, of both units.
    """
    width = 0
    for layer in range(plan.shape[0]):
        width = max(width, plan[layer, IN_WIDTH], plan[layer, OUT_WIDTH])
    source, source_row, source_half = x, 64, x_other - x
    target = scratch
    last = plan.shape[0] - 1
    for layer in range(plan.shape[0]):
        row_bytes = plan[layer, OUT_WIDTH] * 4
        weights, biases = params + plan[layer, WEIGHTS] * 4, params + plan[layer, BIASES] * 4
        target = scratch + (layer & 1) * 128 * width
        for j in range(0, plan[layer, N_OUT], 8):
            _play_block(
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
    """Floats of scratch memory that `add_gradient` needs: activations, two slopes, one unit of logits and of slopes, weights transposed."""
    widths = int(plan[:, OUT_WIDTH].sum() + plan[0, IN_WIDTH] + 2 * plan_width(plan))
    return CHUNK * 16 * widths + 2 * 16 * int(plan[-1, OUT_WIDTH]) + plan_floats(plan)


@njit(nogil=True, error_model="numpy", cache=True)
def _transpose_weights(plan, params, target):
    """The weights of every layer after the first as `[n_out, n_in]` at the same places of the block at address `target`."""
    for layer in range(1, plan.shape[0]):
        n_in, n_out = plan[layer, IN_WIDTH], plan[layer, OUT_WIDTH]
        base = plan[layer, WEIGHTS] * 4
        for k in range(0, n_in, 16):
            for j in range(0, n_out, 16):
                transpose(
                    params + base + (k * n_out + j) * 4, n_out * 4, target + base + (j * n_in + k) * 4, n_in * 4, 16
                )


@njit(nogil=True, error_model="numpy", inline="always")
def _loss_unit(logits, slopes, width, n_actions, action, log_prob, value, advantage, target, scaling, hyper, sums):
    """PPO's loss and its slope for one unit of 16 samples.

    `logits`, `slopes`: addresses of f32 `[width, 16]`; logits are overwritten. `action` u32[16], the rest f32[16] addresses.
    `scaling`: (mean, 1 / deviation) of the advantages, 1 / samples of the minibatch. Adds to `sums`, f32 `[SUMS, 16]`.
    Schulman et al., "Proximal Policy Optimization Algorithms", 2017, equations 7 and 9.
    """
    mean, inverse_deviation, share = scaling
    clip, clip_value, value_coef, entropy_coef = hyper
    top = load(logits)
    for j in range(1, n_actions):
        top = maximum(top, load(logits + 64 * j))
    total = splat(0.0)
    for j in range(n_actions):
        weight = exp(load(logits + 64 * j) - top)
        total = total + weight
        store(slopes + 64 * j, weight)
    top = top + log(total)
    inverse = 1.0 / total
    chosen = load_u32(action)
    entropy = splat(0.0)
    chosen_log = splat(0.0)
    for j in range(n_actions):
        log_p = load(logits + 64 * j) - top
        p = load(slopes + 64 * j) * inverse
        entropy = entropy - p * log_p
        chosen_log = select(chosen == j, log_p, chosen_log)
        store(slopes + 64 * j, p)
        store(logits + 64 * j, log_p)

    difference = chosen_log - load(log_prob)
    ratio = exp(difference)
    gain = (load(advantage) - mean) * inverse_deviation
    clipped_ratio = minimum(maximum(ratio, 1.0 - clip), 1.0 + clip)
    blocked = ((gain > 0.0) & (ratio > 1.0 + clip)) | ((gain < 0.0) & (ratio < 1.0 - clip))
    pull = select(blocked, 0.0, gain * ratio) * share
    bonus = entropy_coef * share
    for j in range(n_actions):
        slope = load(slopes + 64 * j) * (pull + bonus * (load(logits + 64 * j) + entropy))
        store(slopes + 64 * j, slope - select(chosen == j, pull, 0.0))

    estimate = load(logits + 64 * n_actions)
    error = estimate - load(target)
    square = error * error
    value_pull = error
    if clip_value:
        before = load(value)
        move = estimate - before
        clipped_error = before + minimum(maximum(move, -clip), clip) - load(target)
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


@njit(nogil=True, error_model="numpy", cache=True)
def add_gradient(plan, activation, params, data, units, scaling, hyper, gradient, sums, scratch):
    """Adds the gradient of PPO's loss over `units` (int64 indices) to the padded block at address `gradient`.

    `data`: addresses of obs f32 `[unit, n_obs, 16]`, action i32, log_prob, value, advantage and return f32 `[unit, 16]`.
    `scaling`, `hyper`, `sums`: see `_loss_unit`. `scratch`: address of `learn_scratch` floats, its transposed weights filled.
    """
    obs, action, log_prob, value, advantage, target = data
    layers = plan.shape[0]
    n_obs, in_width, out_width = plan[0, N_IN], plan[0, IN_WIDTH], plan[layers - 1, OUT_WIDTH]
    n_actions = plan[layers - 1, N_OUT] - 1
    width = in_width
    for layer in range(layers):
        width = max(width, plan[layer, OUT_WIDTH])
    slope_in = scratch
    slope_out = slope_in + CHUNK * 64 * width
    unit_logits = slope_out + CHUNK * 64 * width
    unit_slopes = unit_logits + 64 * out_width
    transposed = unit_slopes + 64 * out_width
    inputs = transposed + (plan[layers - 1, BIASES] + out_width) * 4

    for begin in range(0, units.size, CHUNK):
        count = min(CHUNK, units.size - begin)
        samples = count * 16
        for u in range(count):
            for k in range(0, in_width, 16):
                transpose(
                    obs + (units[begin + u] * n_obs + k) * 64,
                    64,
                    inputs + (u * 16 * in_width + k) * 4,
                    in_width * 4,
                    max(0, min(16, n_obs - k)),
                )

        source = inputs
        for layer in range(layers):
            depth, row, wide = plan[layer, N_IN], plan[layer, IN_WIDTH] * 4, plan[layer, OUT_WIDTH] * 4
            result = source + CHUNK * 16 * row
            for j in range(0, wide, 128):
                for r in range(0, samples, 8):
                    _forward_block(
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
                    _weight_slope_block(
                        source + k * 4, row, slope_out + j, wide, 64, samples, weights + k * wide + j, wide, 64, 0, 0
                    )
            for j in range(0, wide, 64):
                total = load(gradient + plan[layer, BIASES] * 4 + j)
                for r in range(samples):
                    total = total + load(slope_out + r * wide + j)
                store(gradient + plan[layer, BIASES] * 4 + j, total)
            if layer > 0:
                for k in range(0, row, 128):
                    for r in range(0, samples, 8):
                        _input_slope_block(
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
                            activation,
                        )
                slope_in, slope_out = slope_out, slope_in


@njit(nogil=True, error_model="numpy", cache=True)
def adam_step(count, params, moment, square, gradients, stride, threads, step, learning_rate, epsilon, max_norm):
    """One Adam step on `count` floats with the sum of `threads` gradients, `stride` bytes apart, scaled down to `max_norm` (0: not).

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


@njit(nogil=True, error_model="numpy", cache=True)
def _meet(counter, threads, meeting):
    """Returns once all `threads` have come to the `meeting`-th meeting (1, 2, ...) at the int64 counter's address."""
    vector.atomic_add(counter, 1)
    while load_acquire(counter) < meeting * threads:
        vector.yield_thread()


@njit(nogil=True, error_model="numpy", cache=True)
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
    bounds,
    scaling,
    hyper,
    adam,
    metrics,
):
    """One thread's part of an update: all `threads` call it together; each ends with the same parameters.

    `meeting_point`: address of an int64 that is 0. `state`: f32 `[threads, 3, n]` of parameters and Adam's two moments, equal
    in all threads. `gradients`: f32 `[2, threads, n + 16]`. `scratch`: f32 `[threads, learn_scratch]`. `order`: int64 units in
    learning order; minibatch i is `order[bounds[i]:bounds[i + 1]]`. `scaling`: advantage mean and 1 / deviation.
    `adam`: (learning rate, epsilon, max gradient norm, largest approximate KL or 0, steps taken so far). `metrics`: f64 `[threads, SUMS + 4]`,
    gets sums over this thread's samples, then: samples, sum of gradient norms, steps applied, minibatches skipped.

    Threads add their gradients in a fixed order and each applies the same step to its own copy: one meeting a minibatch.
    """
    n = plan[-1, BIASES] + plan[-1, OUT_WIDTH]
    learning_rate, epsilon, max_norm, target_kl, step = adam
    mean, inverse_deviation = scaling
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
            (mean, inverse_deviation, share),
            hyper,
            mine.ctypes.data,
            sums.ctypes.data,
            work,
        )
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
