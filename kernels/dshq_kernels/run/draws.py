"""A run's own draws: keys of games, orders of minibatches, opponents. The games' generator (language/rng.py) with a
counter of 64 bits: draw k of a key is hash32(hash32(key, k >> 32), k mod 2^32). The same numbers on every machine.

The compiled functions take a generator as u64 `[2]`, its key and how much was drawn. `Draws` is the same for Python,
js/trainer/draws.ts for the page.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dshq_kernels.backends.lanes import hash32
from dshq_kernels.simd.vector import compiled

f64, i64, u32, u64 = np.float64, np.int64, np.uint32, np.uint64


@njit(forceinline=True)
def _word(generator):
    """u32, all bits random."""
    count = generator[1]
    generator[1] = count + u64(1)
    return hash32(hash32(u32(generator[0]), u32(count >> u64(32))), u32(count))


@njit(forceinline=True)
def _below(generator, bound):
    """i64, uniform in 0 .. bound - 1 for a u64 bound from 1 to 2^32. D. Lemire, "Fast random integer generation in an
    interval", 2019.
    """
    product = u64(_word(generator)) * bound
    if u64(u32(product)) < bound:
        least = ((u64(1) << u64(32)) - bound) % bound  # smaller rests would favour some numbers
        while u64(u32(product)) < least:
            product = u64(_word(generator)) * bound
    return i64(product >> u64(32))


@njit(forceinline=True)
def _uniform(generator):
    """f64 in [0, 1), a multiple of 2^-53."""
    high, low = _word(generator), _word(generator)
    return (f64(high >> u32(5)) * 67108864.0 + f64(low >> u32(6))) * 2.0**-53


@compiled
def seed(generator, parts):
    """Begin the generator of `parts`, u32 `[n]`."""
    key = u32(0)
    for part in parts:
        key = hash32(key, part)
    generator[0], generator[1] = key, 0


@compiled
def words(generator, out):
    """Fill u32 `out`, all bits random."""
    for k in range(out.size):
        out[k] = _word(generator)


@compiled
def below(generator, bound, out):
    """Fill u32 `out`, uniform in 0 .. bound - 1; `bound` from 1 to 2^32."""
    for k in range(out.size):
        out[k] = _below(generator, u64(bound))


@compiled
def uniform(generator, out):
    """Fill f64 `out`, uniform in [0, 1)."""
    for k in range(out.size):
        out[k] = _uniform(generator)


@compiled
def normal(generator, out):
    """Fill f64 `out` with normal numbers. G. Box and M. Muller, "A Note on the Generation of Random Normal Deviates",
    1958.
    """
    for k in range(out.size):
        size = np.sqrt(-2.0 * np.log(1.0 - _uniform(generator)))
        out[k] = size * np.cos(2.0 * np.pi * _uniform(generator))


@compiled
def shuffle(generator, items, count):
    """Swap i64 `items` in place until the first `count` are a random choice of them, in random order. R. Durstenfeld,
    "Algorithm 235: Random permutation", 1964.
    """
    for k in range(min(count, items.size - 1)):
        other = k + _below(generator, u64(items.size - k))
        items[k], items[other] = items[other], items[k]


@compiled
def weighted(generator, weights, out):
    """Fill i64 `out` with places of f64 `weights`, with replacement, each as likely as its weight says. Afterwards
    `weights` has its own running sums.
    """
    total = 0.0
    for k in range(weights.size):
        total += weights[k]
        weights[k] = total
    for k in range(out.size):
        limit = _uniform(generator) * total
        first, last = 0, weights.size - 1
        while first < last:
            middle = (first + last) >> 1
            if weights[middle] <= limit:
                first = middle + 1
            else:
                last = middle
        out[k] = first


class Draws:
    """A generator of its own for each run and purpose: `parts` are whole numbers from 0, below 2^64."""

    def __init__(self, *parts: int):
        self.generator = np.zeros(2, np.uint64)
        seed(self.generator, np.array(parts, np.uint64).view(np.uint32))

    @classmethod
    def restored(cls, state: np.ndarray) -> Draws:
        """As `state` described it. Files of before have six words of another generator: they begin one of ours."""
        made = cls(*map(int, state))
        if state.shape == (2,):
            made.generator[:] = state
        return made

    def state(self) -> np.ndarray:
        """u64 `[2]`: the key, and how many words were drawn."""
        return self.generator.copy()

    def words(self, count: int) -> np.ndarray:
        """u32 `[count]`, all bits random."""
        found = np.empty(count, np.uint32)
        words(self.generator, found)
        return found

    def below(self, bound: int, count: int) -> np.ndarray:
        """int64 `[count]`, uniform in 0 .. bound - 1; `bound` from 1 to 2^32."""
        found = np.empty(count, np.uint32)
        below(self.generator, bound, found)
        return found.astype(np.int64)

    def uniform(self, count: int) -> np.ndarray:
        """f64 `[count]`, uniform in [0, 1)."""
        found = np.empty(count)
        uniform(self.generator, found)
        return found

    def permutation(self, size: int) -> np.ndarray:
        """int64 `[size]`: 0 .. size - 1 in random order."""
        return self.different(size, size)

    def different(self, size: int, count: int) -> np.ndarray:
        """int64 `[count]`: different ones of 0 .. size - 1, in random order."""
        found = np.arange(size)
        shuffle(self.generator, found, count)
        return found[:count]

    def weighted(self, weights: np.ndarray, count: int) -> np.ndarray:
        """int64 `[count]`: places of `weights`, with replacement, each as likely as its weight says."""
        found = np.empty(count, np.int64)
        weighted(self.generator, weights.astype(np.float64), found)
        return found
