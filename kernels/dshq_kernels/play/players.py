"""Players: the policy, which draws from its own counter-based generator, a baseline of the game, uniform actions, or no
actions.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dshq_kernels.backends.cpu import FIRST_BASELINE
from dshq_kernels.backends.cpu import RANDOM as RANDOM_ACTIONS
from dshq_kernels.network.mlp import FORBIDDEN, N_ACTIONS, forward_lanes
from dshq_kernels.simd.elementary import exp, log
from dshq_kernels.simd.vector import (
    call2,
    compiled,
    copy_bytes,
    lane_numbers,
    load,
    load_u32,
    select,
    splat,
    splat_u32,
    store,
    store_u32,
    to_f32,
)

TICKS_AT, ACTION_AT = 192, 256
"""Byte offsets of two fields of a tile's record."""
SELF, RANDOM, IDLE, POLICY = -1, -2, -3, -16
"""Who plays a side: the learner, uniform actions, action 0; k >= 0 is the drill's k-th baseline, POLICY - k the k-th
given policy."""


@njit(inline="always")
def mix(x):
    """A bijective hash of u32x16: `lowbias32` of C. Wellons' hash-prospector (2018, public domain)."""
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


@njit(inline="always")
def uniform(seed, stream, count):
    """f32x16 in [0, 1) with 24 bits: a pure function of (seed, stream, lane, count), the same on every machine."""
    key = mix(mix(lane_numbers() + splat_u32(stream * 16 + 0x5EED)) ^ splat_u32(seed))
    word = mix(mix(key + splat_u32(count * 0x9E3779B9)) ^ key)
    return to_f32(word >> 8) * np.float32(2.0**-24)


@compiled
def choose(logits, step, n_actions, u, greedy, action, log_prob, scratch, mask):
    """Draws an action per lane from the softmax of logits `step` bytes apart, or takes the largest; writes i32[16]
    and f32[16].

    `u` f32[16] in [0, 1) by address; `scratch` holds `n_actions` units. The inverse of the cumulative distribution.
    `mask` is the address of i32 `[n_actions, 16]`, or 0: what it forbids gets the logit `FORBIDDEN` and is never drawn.
    """
    if mask > 0:
        for j in range(n_actions):
            store(logits + j * step, select(load_u32(mask + j * 64) != 0, load(logits + j * step), FORBIDDEN))
    top = load(logits)
    best = splat_u32(0)
    for j in range(1, n_actions):
        value = load(logits + j * step)
        higher = value > top
        best = select(higher, splat_u32(j), best)
        top = select(higher, value, top)
    total = splat(0.0)
    for j in range(n_actions):
        weight = exp(load(logits + j * step) - top)
        if mask > 0:
            weight = select(load_u32(mask + j * 64) != 0, weight, 0.0)
        total = total + weight
        store(scratch + j * 64, total)
    chosen_log = splat(0.0)
    if greedy:
        store_u32(action, best)
    else:
        threshold = load(u) * total
        chosen = splat_u32(0)
        chosen_log = load(logits) - top
        for j in range(1, n_actions):
            beyond = load(scratch + (j - 1) * 64) <= threshold
            chosen = select(beyond, splat_u32(j), chosen)
            chosen_log = select(beyond, load(logits + j * step) - top, chosen_log)
        store_u32(action, chosen)
    store(log_prob, chosen_log - log(total))


@compiled
def keep_mask(mask, n_actions, bits):
    """Packs a mask, i32 `[n_actions, 16]`, into u32 `[ceil(n_actions / 32), 16]`: bit j % 32 of word j / 32; by
    address."""
    for word in range((n_actions + 31) // 32):
        packed = splat_u32(0)
        for j in range(word * 32, min(word * 32 + 32, n_actions)):
            packed = packed | (load_u32(mask + j * 64) << (j & 31))
        store_u32(bits + word * 64, packed)


@compiled
def play_side(
    kind,
    verbs,
    tile,
    side,
    other_tile,
    other_side,
    n_obs,
    obs,
    other_obs,
    plan,
    activation,
    params,
    greedy,
    seed,
    stream,
    other_stream,
    count,
    masks,
    other_masks,
    memory,
    scratch,
):
    """Writes the actions of one side of two tiles into their records; `obs`: addresses of f32 `[sides, n_obs, 16]`.

    `masks`: addresses of i32 `[sides, n_actions, 16]`, or 0. `memory`: see `forward_lanes`.
    """
    if kind <= POLICY:
        n_actions = plan[0, N_ACTIONS]
        chance, log_prob, weights, network = scratch, scratch + 64, scratch + 128, scratch + 128 + 64 * n_actions
        network = (network + 63) // 64 * 64
        allowed = masks + side * n_actions * 64 if masks > 0 else 0
        other_allowed = other_masks + other_side * n_actions * 64 if other_masks > 0 else 0
        out = forward_lanes(
            plan,
            activation,
            params,
            obs + side * n_obs * 64,
            other_obs + other_side * n_obs * 64,
            allowed,
            other_allowed,
            memory,
            network,
        )
        store(chance, uniform(seed, stream, count))
        choose(out, 128, n_actions, chance, greedy, tile + ACTION_AT + side * 64, log_prob, weights, allowed)
        if other_tile != tile:
            store(chance, uniform(seed, other_stream, count))
            choose(
                out + 64,
                128,
                n_actions,
                chance,
                greedy,
                other_tile + ACTION_AT + other_side * 64,
                log_prob,
                weights,
                other_allowed,
            )
        return
    for half in range(2):
        if half == 1:
            if other_tile == tile:
                return
            tile, side = other_tile, other_side
        if kind == IDLE:
            store_u32(tile + ACTION_AT + side * 64, splat_u32(0))
        else:
            call2(verbs[RANDOM_ACTIONS] if kind == RANDOM else verbs[FIRST_BASELINE + kind], tile, scratch)
            copy_bytes(tile + ACTION_AT + side * 64, scratch + side * 64, 64)
