"""Large arrays in policy files, compressed: what is mostly 0 shrinks to a few per cent."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np

LEVEL = 1
"""Of zlib: the fastest."""
PIECE = 1 << 20
"""Bytes: a replay may be as large as the memory, so that there is no room for two."""


def compress(array: np.ndarray) -> np.ndarray:
    """The array's bytes, compressed: u8 `[bytes]`."""
    return np.frombuffer(zlib.compress(np.ascontiguousarray(array).tobytes(), LEVEL), np.uint8)


class OtherSize(ValueError):
    """There are more or fewer bytes than were wanted."""


def pieces(packed: np.ndarray, size: int) -> Iterator[tuple[int, bytes]]:
    """The bytes that `compress` got, piece by piece with the place of each, whole numbers of 8 bytes but for the last.
    Whatever a file says, few are there at once. Raises OtherSize where they are not `size`, and zlib.error for what is
    not compressed.
    """
    machine, data = zlib.decompressobj(), packed.astype(np.uint8, copy=False).ravel()
    at, found = 0, b""
    for begin in range(0, len(data), PIECE >> 4):
        rest = data[begin : begin + (PIECE >> 4)].tobytes()
        while rest and not machine.eof:
            found += machine.decompress(rest, PIECE)
            rest = machine.unconsumed_tail
            if at + len(found) > size:
                raise OtherSize(f"expected {size:,} bytes, got more")
            whole = len(found) & -8
            if whole:
                yield at, found[:whole]
            at, found = at + whole, found[whole:]
    found += machine.flush()  # few: what the last piece had no room for
    if found and at + len(found) <= size:
        yield at, found
    if at + len(found) != size:
        raise OtherSize(f"expected {size:,} bytes, got {at + len(found):,}")


def fill(packed: np.ndarray, target: np.ndarray) -> None:
    """Put what `compress` got into an array of as many bytes, C-contiguous. Raises as `pieces`."""
    row = target.reshape(-1).view(np.uint8)
    for at, piece in pieces(packed, row.size):
        row[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
