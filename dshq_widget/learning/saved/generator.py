"""A random generator's state as an array, for files that continue a run exactly."""

from __future__ import annotations

from typing import Any

import numpy as np


def pack_generator(rng: np.random.Generator) -> np.ndarray:
    """The state of a PCG64 generator as u64[6]."""
    state: Any = rng.bit_generator.state
    words = [
        state["state"]["state"] >> 64,
        state["state"]["state"],
        state["state"]["inc"] >> 64,
        state["state"]["inc"],
        state["has_uint32"],
        state["uinteger"],
    ]
    return np.array([word & (1 << 64) - 1 for word in words], np.uint64)


def unpack_generator(words: np.ndarray) -> np.random.Generator:
    """The generator that `pack_generator` described. Raises ValueError for words that no generator has: one whose
    increment is even may draw 0 for ever, and numpy then looks for another number without end.
    """
    if words.dtype != np.uint64 or words.shape != (6,):
        raise ValueError(f"a generator has 6 words u64, got {words.dtype} of shape {words.shape}")
    w = [int(word) for word in words]
    if not w[3] & 1 or w[4] > 1 or w[5] >> 32:
        raise ValueError("no generator has these words: its increment is odd, and 32 bits at most are kept")
    bits = np.random.PCG64()
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": w[0] << 64 | w[1], "inc": w[2] << 64 | w[3]},
        "has_uint32": w[4],
        "uinteger": w[5],
    }
    return np.random.Generator(bits)
