"""PPO's loss of one unit of 16 samples, and its slope."""

from __future__ import annotations

from numba import njit

from dshq_kernels.network.mlp import FORBIDDEN
from dshq_kernels.simd import vector
from dshq_kernels.simd.elementary import exp, log
from dshq_kernels.simd.vector import compiled, fma, load, load_u32, maximum, minimum, select, splat, store

SUMS = 5
"""Sums over samples that the loss keeps: policy loss, squared value error, entropy, approximate KL, clipped samples."""


@njit(nogil=True, error_model="numpy", inline="always")
def largest_allowed(logits, n_actions, mask):
    """The largest logit of each sample, after those that `mask` forbids became `FORBIDDEN`; arguments: `loss_unit`.
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
def correct_unit(logits, n_actions, action, log_prob, advantage, mask):
    """The network's log-probabilities of the chosen actions in place of those of the policy that played, and the
    advantages times the ratio of the two, cut off at 1; arguments: `loss_unit`.
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
def loss_unit(
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
