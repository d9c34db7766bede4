"""In which order a rollout's units are learned, how much each counts, and where minibatches begin.

A unit is sixteen samples that are learned together. With a memory whole sequences of units are drawn: a sequence of
`length` decisions lies as `[groups, length, 2]` (Samples.length), so it is told by its first unit.
"""

from __future__ import annotations

import numpy as np

from dshq_kernels.run import draws
from dshq_kernels.simd.vector import compiled

SOFTENED = 1e-6


@compiled
def priorities(begins, length, advantage, alpha, beta, chance, factor):
    """Fill f64 `[n]` each: how likely each sequence is drawn, and by which factor its advantages then count.

    `begins`: i64 `[n]`, first units; `advantage`: f32 `[units, k]`. With p the sum of a sequence's absolute advantages
    (0 where it is no number), P is p^alpha as a share of all, softened by 1e-6, and the factor (n P)^-beta. PufferLib's
    rule for its segments; after Schaul et al., "Prioritized Experience Replay", 2016.
    """
    total = 0.0
    for k in range(begins.size):
        size = 0.0
        for t in range(length):
            for x in advantage[begins[k] + 2 * t]:
                size += abs(np.float64(x))
        chance[k] = (size if np.isfinite(size) else 0.0) ** alpha + SOFTENED
        total += chance[k]
    for k in range(begins.size):
        chance[k] /= total
        factor[k] = (begins.size * chance[k]) ** -beta


@compiled
def plan(
    generator, begins, length, advantage, epochs, count, shuffled, alpha, beta, room, drawn, order, importance, bounds
):
    """Fill `order`, i64 `[epochs n length]`: units; `importance`, f32, a factor of the advantages for each; `bounds`,
    i64 `[epochs count + 1]`: where each minibatch begins, and the last one ends.

    Each of the `epochs` is cut into `count` near-equal minibatches. Without priorities (`alpha` 0) it is all sequences,
    reshuffled or in order; with them the same number is drawn with replacement. `begins`, `advantage`: see
    `priorities`. `generator`: of draws.py. `room`: f64 `[2, n]`; `drawn`: i64 `[epochs n]`.
    """
    n = begins.size
    for epoch in range(epochs):
        for k in range(count):
            bounds[epoch * count + k] = (epoch * n + k * n // count) * length
        for k in range(n):
            drawn[epoch * n + k] = k
    bounds[epochs * count] = epochs * n * length
    chance, factor = room[0], room[1]
    factor[:] = 1.0
    if alpha > 0:
        priorities(begins, length, advantage, alpha, beta, chance, factor)
        draws.weighted(generator, chance, drawn)
    for epoch in range(epochs):
        mine = drawn[epoch * n : (epoch + 1) * n]
        if alpha > 0 and not shuffled:
            _sort(mine, chance)
        elif shuffled and not alpha > 0:
            draws.shuffle(generator, mine, n)
    for k in range(epochs * n):
        for t in range(length):
            order[k * length + t] = begins[drawn[k]] + 2 * t
            importance[k * length + t] = factor[drawn[k]]


@compiled
def _sort(places, counts):
    """Sort i64 `[n]` of 0 .. n - 1; `counts`: f64 `[n]`, room."""
    counts[:] = 0.0
    for place in places:
        counts[place] += 1
    at = 0
    for place in range(places.size):
        for _ in range(int(counts[place])):
            places[at] = place
            at += 1
