"""The loss that learns from a search, for one unit of 16 samples (docs/explain/search.md; SPO's M-step, after Stoix's
`ff_spo.py`).

policy: cross entropy of the search's target q; trust region: alpha KL(target policy, policy); critic: half the squared
error to the returns.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from dshq_kernels.backends.generated import load_module
from dshq_kernels.network.mlp import FORBIDDEN
from dshq_kernels.network.ppo_loss import largest_allowed
from dshq_kernels.simd.elementary import exp, log
from dshq_kernels.simd.vector import compiled, fma, load, maximum, peek_f32, peek_i64, select, splat, store

LEAST = 1e-12
"""Smallest probability in a logarithm."""


class Read(NamedTuple):
    """What the loss reads, by address, as int64 in this order: f32 `[units, n_actions, 16]` the targets q and the
    target network's policy; f32 `[units, 16]` the returns; f32 `[3]` the weights of the trust region and of the
    critic, and 1 / samples; and the number of this part's first unit.
    """

    targets: int
    policy: int
    returns: int
    numbers: int
    first: int

    def array(self) -> np.ndarray:
        """Them as int64 `[5]`; keep it as long as its address is used."""
        return np.array(self, np.int64)


@compiled
def search_loss(logits, slopes, width, n_actions, mask, position, read, sums):
    """Writes the slopes of one unit's logits and value, f32 `[width, 16]`, and adds to `sums`, f32 `[SUMS, 16]`: cross
    entropy, squared value error, entropy, KL(target policy, policy), 0. Addresses; `mask` as in `ppo_loss.loss_unit`;
    `read`: that of a `Read`; the unit is the `position`-th of this part.
    """
    unit, numbers = position + peek_i64(read + 32), peek_i64(read + 24)
    targets = peek_i64(read) + unit * n_actions * 64
    policy = peek_i64(read + 8) + unit * n_actions * 64
    returns = peek_i64(read + 16) + unit * 64
    alpha, value_coef, share = peek_f32(numbers), peek_f32(numbers + 4), peek_f32(numbers + 8)
    top = largest_allowed(logits, n_actions, mask)
    total, surprise = splat(0.0), splat(0.0)
    for j in range(n_actions):
        below = load(logits + 64 * j) - top
        weight = select(below < 0.5 * FORBIDDEN, 0.0, exp(below))
        total = total + weight
        surprise = fma(weight, select(weight > 0.0, below, 0.0), surprise)
        store(slopes + 64 * j, weight)
    inverse = 1.0 / total
    log_total = log(total)
    crossed, divergence = splat(0.0), splat(0.0)
    for j in range(n_actions):
        wanted, before = load(targets + 64 * j), load(policy + 64 * j)
        chance = load(slopes + 64 * j) * inverse
        said = select(chance > 0.0, load(logits + 64 * j) - top - log_total, 0.0)
        crossed = fma(wanted, said, crossed)
        divergence = fma(before, log(maximum(before, LEAST)) - said, divergence)
        slope = fma(chance, 1.0 + alpha, splat(0.0) - fma(before, alpha, wanted))
        store(slopes + 64 * j, slope * share)
    error = load(logits + 64 * n_actions) - load(returns)
    store(slopes + 64 * n_actions, error * (value_coef * share))
    for j in range(n_actions + 1, width):
        store(slopes + 64 * j, 0.0)
    store(sums, load(sums) - crossed)
    store(sums + 64, load(sums + 64) + error * error)
    store(sums + 128, load(sums + 128) + (log_total - surprise * inverse))
    store(sums + 192, load(sums + 192) + divergence)


@functools.cache
def address() -> int:
    """Of `search_loss` as a C function, every argument an i64."""
    source = """from numba import cfunc, types
from dshq_kernels.network.search_loss import search_loss

@cfunc(types.void(*[types.int64] * 8), nopython=True, error_model="numpy", cache=True)
def loss(logits, slopes, width, n_actions, mask, position, read, sums):
    search_loss(logits, slopes, width, n_actions, mask, position, read, sums)
"""
    return int(load_module(source).loss.address)
