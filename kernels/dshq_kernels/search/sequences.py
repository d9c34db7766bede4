"""What there is to learn from sequences of searched decisions: their targets, the target network's policy, and returns
(docs/explain/search.md).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dshq_kernels.network.mlp import FORBIDDEN, N_ACTIONS, N_OBS, NO_MEMORY, forward_lanes, play_scratch
from dshq_kernels.play.gae import gae_lanes
from dshq_kernels.simd.elementary import exp
from dshq_kernels.simd.lanes import LANES
from dshq_kernels.simd.vector import (
    compiled,
    copy_bytes,
    load,
    load_u32,
    peek_f32,
    peek_i32,
    poke_f32,
    select,
    splat,
    store,
    store_u32,
)


class Ring(NamedTuple):
    """A replay in units of 16 games: unit (t mod `capacity`) `tiles` + tile is what the games of a tile saw and did at
    decision t. Addresses of arrays `[units, ..., 16]`: obs f32, mask u32 (0: none), reward f32, over f32 (1 where an
    episode ended), root actions i32 and weights f32 `[K]`; `final_at` i64 `[units]`, of the unit in `finals`, f32
    `[n, n_obs, 16]`, with the last observations of episodes that ran out of time, or -1; where an episode `terminated`
    (f32 1) none counts.
    """

    capacity: int
    tiles: int
    particles: int
    obs: int
    mask: int
    reward: int
    over: int
    terminated: int
    action: int
    weight: int
    final_at: int
    finals: int


class Lesson(NamedTuple):
    """Addresses of what comes out, a unit for each decision of each sequence: targets q and the target network's
    policy, f32 `[units, n_actions, 16]`; returns and the target network's values f32 `[units, 16]`.
    """

    targets: int
    policy: int
    returns: int
    values: int


def scratch_floats(plan: np.ndarray, length: int) -> int:
    """Floats of scratch memory for `study`."""
    n_actions = int(plan[0, N_ACTIONS])
    return (2 * n_actions + 5 * length + 1) * LANES + play_scratch(plan) + 64


@compiled
def _unpack_mask(bits, n_actions, target):
    """A packed mask as i32 `[n_actions, 16]`."""
    for j in range(n_actions):
        store_u32(target + j * 64, (load_u32(bits + (j >> 5) * 64) >> (j & 31)) & 1)


@compiled
def _softmax(logits, step, mask, n_actions, target):
    """f32 `[n_actions, 16]` probabilities of logits `step` bytes apart; what `mask`, i32 `[n_actions, 16]` or 0,
    forbids has 0.
    """
    top = splat(FORBIDDEN)
    for j in range(n_actions):
        logit = load(logits + j * step)
        if mask > 0:
            logit = select(load_u32(mask + j * 64) != 0, logit, FORBIDDEN)
        top = select(logit > top, logit, top)
    total = splat(0.0)
    for j in range(n_actions):
        weight = exp(load(logits + j * step) - top)
        if mask > 0:
            weight = select(load_u32(mask + j * 64) != 0, weight, 0.0)
        store(target + j * 64, weight)
        total = total + weight
    inverse = 1.0 / total
    for j in range(n_actions):
        store(target + j * 64, load(target + j * 64) * inverse)


@compiled
def study(plan, activation, params, ring, sequences, length, first, last, gamma, gae_lambda, lesson, scratch):
    """Writes the lesson of the sequences `first` to `last`: int64 `[n, 2]`, the tile and the decision that each begins
    with; every one has `length` decisions, and the ring holds the one behind them. `params`: address of the target
    network's parameters.
    """
    n_obs, n_actions = plan[0, N_OBS], plan[0, N_ACTIONS]
    mask_bytes = (n_actions + 31) // 32 * 64
    masks = scratch
    reward = masks + 2 * n_actions * 64
    over, final, advantage = reward + length * 64, reward + 2 * length * 64, reward + 3 * length * 64
    values, network = reward + 4 * length * 64, reward + (5 * length + 1) * 64
    for s in range(first, last):
        tile, begin = sequences[s, 0], sequences[s, 1]
        for t in range(0, length + 1, 2):
            e = min(t + 1, length)
            here = (begin + t) % ring.capacity * ring.tiles + tile
            there = (begin + e) % ring.capacity * ring.tiles + tile
            mask, other = 0, 0
            if ring.mask > 0:
                mask, other = masks, masks + n_actions * 64
                _unpack_mask(ring.mask + here * mask_bytes, n_actions, mask)
                _unpack_mask(ring.mask + there * mask_bytes, n_actions, other)
            out = forward_lanes(
                plan,
                activation,
                params,
                ring.obs + here * n_obs * 64,
                ring.obs + there * n_obs * 64,
                mask,
                other,
                NO_MEMORY,
                network,
            )
            store(values + t * 64, load(out + n_actions * 128))
            store(values + e * 64, load(out + n_actions * 128 + 64 * (e - t)))
            if t < length:
                _softmax(out, 128, mask, n_actions, lesson.policy + (s * length + t) * n_actions * 64)
            if t < e < length:
                _softmax(out + 64, 128, other, n_actions, lesson.policy + (s * length + e) * n_actions * 64)
        for t in range(length):
            unit = (begin + t) % ring.capacity * ring.tiles + tile
            copy_bytes(reward + t * 64, ring.reward + unit * 64, 64)
            copy_bytes(over + t * 64, ring.over + unit * 64, 64)
            store(final + t * 64, 0.0)
            late = peek_i32(ring.final_at + unit * 8)
            if late >= 0:
                seen = ring.finals + late * n_obs * 64
                out = forward_lanes(plan, activation, params, seen, seen, 0, 0, NO_MEMORY, network)
                terminated = load(ring.terminated + unit * 64) > 0.0
                store(final + t * 64, select(terminated, 0.0, load(out + n_actions * 128)))
            _count_targets(ring, unit, n_actions, lesson.targets + (s * length + t) * n_actions * 64)
        gae_lanes(
            length,
            reward,
            over,
            final,
            64,
            values,
            advantage,
            lesson.returns + s * length * 64,
            64,
            values + length * 64,
            gamma,
            gae_lambda,
        )
        copy_bytes(lesson.values + s * length * 64, values, length * 64)


@compiled
def _count_targets(ring, unit, n_actions, target):
    """q of one unit: the weight of each root action, f32 `[n_actions, 16]`."""
    for j in range(n_actions):
        store(target + j * 64, 0.0)
    for p in range(ring.particles):
        row = (unit * ring.particles + p) * 64
        for lane in range(16):
            at = target + peek_i32(ring.action + row + lane * 4) * 64 + lane * 4
            poke_f32(at, peek_f32(at) + peek_f32(ring.weight + row + lane * 4))
