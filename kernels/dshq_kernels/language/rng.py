"""The games' own generator: counter-based on 32-bit integers, the same numbers on every back end.

A lane holds a key and a counter. Each draw is `hash32(key, counter)`: two rounds of an invertible 32-bit mixer, the
second keyed again, so two keys never walk the same sequence shifted. The mixer is `lowbias32` of Chris Wellons,
"Prospecting for hash functions" (2018), constants of its best two-multiply form. `hash32` is written once per back end
(lanes.py, javascript.py); tests/kernels/test_maths.py tests its quality, tests/env/test_trace.py the agreement.
"""

from __future__ import annotations

from dshq_kernels.language.subset import rule


@rule
def random_bits(s, i):
    count = s.rng_count[i]
    s.rng_count[i] = count + 1
    return hash32(s.rng_key[i], count)  # noqa: F821  (a built-in of the rules language)


@rule
def random(s, i):
    """f32 uniform in [0, 1), a multiple of 2^-24."""
    return float(random_bits(s, i) >> 8) * 5.9604644775390625e-08


@rule
def random_word(s, i):
    """i32 uniform in [0, 2^24)."""
    return i32(random_bits(s, i) >> 8)  # noqa: F821  (a built-in of the rules language)


@rule
def random_int(s, i, n):
    """i32 uniform in [0, n) for 1 <= n <= 2^16 (bias below n / 2^24)."""
    return min(int(random(s, i) * float(n)), n - 1)
