"""Large arrays in policy files, compressed: what is mostly 0 shrinks to a few per cent."""

from __future__ import annotations

import zlib

import numpy as np

LEVEL = 1
"""Of zlib: the fastest."""


def compress(array: np.ndarray) -> np.ndarray:
    """The array's bytes, compressed: u8 `[bytes]`."""
    return np.frombuffer(zlib.compress(np.ascontiguousarray(array).tobytes(), LEVEL), np.uint8)


def decompress(packed: np.ndarray, size: int) -> bytes | None:
    """The bytes that `compress` got; None unless they are `size`. No more memory than that is ever taken, whatever a
    file says. Raises zlib.error for what is not compressed.
    """
    found = zlib.decompressobj().decompress(packed.tobytes(), size + 1)
    return found if len(found) == size else None
