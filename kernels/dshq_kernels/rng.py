"""The games' own generator: counter-based on 32-bit integers, the same numbers on every back end.

A lane holds a key and a counter. Each draw hashes (key, counter) with two rounds of an invertible 32-bit mixer, the
second keyed again, so two
keys never walk the same sequence shifted. Mixer: `lowbias32` by Chris Wellons, "Prospecting for hash functions"
(2018), constants of its best
two-multiply form; quality of the combination checked in tests/test_rng.py (measured, not proved).
"""

from __future__ import annotations

from dshq_kernels.subset import rule

GOLDEN = 0x9E3779B9  # 2^32 / golden ratio (Knuth, TAOCP 6.4)


@rule
def mix(x):
    x = (x ^ (x >> 16)) * 0x7FEB352D
    x = (x ^ (x >> 15)) * 0x846CA68B
    return x ^ (x >> 16)


@rule
def random_bits(s, i):
    key = s.rng_key[i]
    count = s.rng_count[i]
    s.rng_count[i] = count + 1
    return mix(mix(count * GOLDEN + key) ^ (key * 0x85EBCA6B + 0x27D4EB2F))


@rule
def random(s, i):
    """f32 uniform in [0, 1), a multiple of 2^-24."""
    return float(random_bits(s, i) >> 8) * 5.9604644775390625e-08


@rule
def random_int(s, i, n):
    """i32 uniform in [0, n) for 1 <= n <= 2^16 (bias below n / 2^24)."""
    return min(int(random(s, i) * float(n)), n - 1)
