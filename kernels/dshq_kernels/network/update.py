"""A whole PPO update on a few threads: gradients of the minibatches in turn, and Adam."""

from __future__ import annotations

import numpy as np
from numba import carray, njit

from dshq_kernels.backends.lanes import pointer, stack_words
from dshq_kernels.network.gradient import CORRECT_LAG, add_gradient
from dshq_kernels.network.mlp import BIASES, OUT_WIDTH
from dshq_kernels.network.ppo_loss import SUMS
from dshq_kernels.simd import vector
from dshq_kernels.simd.atomics import load_acquire
from dshq_kernels.simd.vector import compiled, fma, lane_sum, load, splat, sqrt, store

ADAM_BETA1, ADAM_BETA2 = 0.9, 0.999
"""Kingma and Ba, "Adam", 2015, their defaults."""
SUM_WORDS = SUMS * 16


@compiled
def adam_step(count, params, moment, square, gradients, stride, threads, step, learning_rate, epsilon, max_norm):
    """One Adam step on `count` floats with the sum of `threads` gradients, `stride` bytes apart, scaled down to
    `max_norm` (0: not).

    Everything by address. Returns the gradient norm before scaling; if it is not finite, nothing is changed.
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
    """Barrier: returns once all `threads` have called it for the `meeting`-th time (1, 2, ...); the int64 counter is at
    an address.
    """
    vector.atomic_add(counter, 1)
    while load_acquire(counter) < meeting * threads:
        vector.yield_thread()


@njit(nogil=True, error_model="numpy", inline="always")
def _correct_lag(plan, activation, params, data, units, importance, normal, scaling, hyper, room):
    """Prepares samples of an earlier policy for learning, in place: `log_prob` becomes that of the network, and the
    advantages are multiplied by min(1, pi / mu), where mu is the policy that played. So the clip bounds the step of
    this update alone, and what the network would hardly do counts less. To do it twice changes nothing more.

    J. Hilton et al., "Batch size-invariance for policy optimization", 2021, section 3: the policy before the update in
    the clip, the one that played in the weights. L. Espeholt et al., "IMPALA", ICML 2018, section 4.1: cut off at 1.
    """
    share = np.float32(0.0)
    loss = (CORRECT_LAG, 0)
    add_gradient(
        plan, activation, params, data, units, importance, normal, (*scaling, share), hyper, loss, room, room, room
    )


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
    correcting,
    metrics,
):
    """One thread's part of an update: all `threads` call it together; each ends with the same parameters. Where
    `correcting`, nothing is learned: the samples of `order`, each unit once, are made ready for it (`_correct_lag`).

    `meeting_point`: address of an int64 that is 0. `state`: f32 `[threads, 3, n]` of parameters and Adam's two
    moments, equal in all threads. `gradients`: f32 `[2, threads, n + 16]`. `scratch`: f32 `[threads, learn_scratch]`.
    `order`: int64 units in learning order, whole sequences with a memory; minibatch i is `order[bounds[i]:bounds[i +
    1]]`; `importance`: f32, a factor
    of the advantages for each. `normal`: see `add_gradient`. `scaling`: advantage mean and 1 / deviation, factor of
    values and returns. `mask`: f32 `[n]`, 0 where nothing is to be learned, or of length 0. `adam`: (learning rate,
    epsilon, max gradient norm, largest approximate KL or 0, steps taken so far). `metrics`: f64 `[threads, SUMS + 4]`,
    gets sums over this thread's samples, then: samples, sum of gradient norms, steps applied, minibatches skipped.

    Threads add their gradients in a fixed order and each applies the same step to its own copy: one meeting a
    minibatch.
    """
    n, length = plan[-1, BIASES] + plan[-1, OUT_WIDTH], data[-1]
    learning_rate, epsilon, max_norm, target_kl, step = adam
    params, moment, square = (state[thread, 0].ctypes.data, state[thread, 1].ctypes.data, state[thread, 2].ctypes.data)
    stride = gradients.strides[1]
    if correcting:
        share = order.size // length
        mine = order[share * thread // threads * length : share * (thread + 1) // threads * length]
        room = scratch[thread].ctypes.data
        _correct_lag(plan, activation, params, data, mine, importance, normal, scaling, hyper, room)
        return
    sums = carray(pointer(stack_words(SUM_WORDS)), (SUMS, 16), np.float32)  # nothing is allocated: WebAssembly cannot
    for i in range(bounds.size - 1):
        units = bounds[i + 1] - bounds[i]
        sequences = units // length
        first = bounds[i] + sequences * thread // threads * length
        last = bounds[i] + sequences * (thread + 1) // threads * length
        mine = gradients[i & 1, thread]
        mine[:] = 0
        sums[:] = 0
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
            (0, 0),
            mine.ctypes.data,
            sums.ctypes.data,
            scratch[thread].ctypes.data,
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


@compiled
def step_groups(params, moment, square, gradients, groups, rates, epsilon, max_norm, step):
    """One Adam step on f32 `[n]` `params` with the sum of the gradients f32 `[threads, n + ...]`, in two groups that
    each have a learning rate (`rates`) and are each scaled down to the norm `max_norm` (0: not). `groups`: f32 `[n]`, 1
    for the second group. Returns the two norms before scaling; where one is not finite, nothing is changed.
    """
    first, second = 0.0, 0.0
    for k in range(params.size):
        slope = gradients[0, k]
        for thread in range(1, gradients.shape[0]):
            slope = slope + gradients[thread, k]
        gradients[0, k] = slope
        size = np.float64(slope) * slope
        second += size * groups[k]
        first += size * (1.0 - groups[k])
    norms = (np.sqrt(first), np.sqrt(second))
    if not (np.isfinite(norms[0]) and np.isfinite(norms[1])):
        return norms
    limit = max_norm if max_norm > 0 else np.inf
    scales = (np.float32(min(1.0, limit / (norms[0] + 1e-6))), np.float32(min(1.0, limit / (norms[1] + 1e-6))))
    bias = 1.0 / (1.0 - ADAM_BETA1**step)
    sizes = (np.float32(rates[0] * bias), np.float32(rates[1] * bias))
    correction = np.float32(1.0 / np.sqrt(1.0 - ADAM_BETA2**step))
    keep_moment, keep_square = np.float32(ADAM_BETA1), np.float32(ADAM_BETA2)
    for k in range(params.size):
        second_group = groups[k] > 0
        slope = gradients[0, k] * (scales[1] if second_group else scales[0])
        moment[k] = moment[k] * keep_moment + slope * (np.float32(1.0) - keep_moment)
        square[k] = square[k] * keep_square + slope * slope * (np.float32(1.0) - keep_square)
        size = sizes[1] if second_group else sizes[0]
        params[k] -= size * moment[k] / (np.sqrt(square[k]) * correction + np.float32(epsilon))
    return norms
