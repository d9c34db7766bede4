"""A ring of fixed-size chunks in shared memory that carries experience from a rollout process to the learner.

One producer, one consumer, no locks. A process may be killed anywhere: a chunk that was not committed does not exist,
a chunk that was not released is read again by the consumer's successor. Memory layout, little-endian, version 1; each
counter has a cache line to itself:

    offset  type   content
    0       i64    magic, the bytes "DSHQRING"
    8       i64    layout version, 1
    16      i64    layout hash: FNV-1a over the fields' names, types and shapes
    24      i64    capacity, in chunks
    32      i64    stride, bytes from one chunk to the next (a multiple of 64)
    64      i64    head: chunks committed since the beginning; written by the producer
    128     i64    tail: chunks released since the beginning; written by the consumer
    192     i64    dropped: chunks given up because the lane was full; written by the producer
    256     chunk 0, then chunk 1 at 256 + stride, ...; chunk number h lives in place h mod capacity

    chunk   i64 policy_version, i64 sequence, zeros up to 64 bytes, then each field on a multiple of 64 bytes, C order

`sequence` numbers the chunks that were made, dropped ones included, so that a gap shows a drop. Protocol: the
producer fills the chunk at `head`, then store_release head + 1; the consumer's load_acquire of head makes the chunk
visible, and its store_release of tail gives the room back (L. Lamport, "Specifying concurrent program modules",
TOPLAS 1983, with the orders spelled out).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numba import njit

from dshq_kernels.simd.atomics import load_acquire, store_release
from dshq_widget.runtime.memory import SharedBlock

MAGIC = int.from_bytes(b"DSHQRING", "little")
LAYOUT_VERSION = 1
LINE = 64  # bytes in a cache line
HEAD = 64  # byte offsets, as above
TAIL = 128
DROPPED = 192
CHUNKS = 256

Fields = Mapping[str, tuple[str, tuple[int, ...]]]  # name -> (numpy type, shape)


@dataclass(frozen=True)
class Chunk:
    """One chunk in place: writing to its arrays writes shared memory."""

    policy_version: int
    """Version of the weights that acted; 0 in a chunk that is only reserved."""
    sequence: int
    """Number of this chunk among all that the producer made, dropped ones included."""
    arrays: dict[str, np.ndarray]
    """Field name -> view of the declared type and shape."""


class Lane:
    """One end of a lane in a shared block. Make it with `create` or `attach`."""

    def __init__(self, block: SharedBlock, fields: Fields, capacity: int, offset: int):
        self.capacity = capacity
        self._reserved = False
        self._base = block.address + offset
        stride = _stride(fields)
        starts = [offset + CHUNKS + place * stride for place in range(capacity)]
        self._labels = [block.array(np.int64, 2, start) for start in starts]  # policy_version, sequence
        self._arrays = [_views(block, fields, start) for start in starts]

    @staticmethod
    def nbytes_for(fields: Fields, capacity: int) -> int:
        """Bytes that a lane of `capacity` such chunks takes."""
        return CHUNKS + capacity * _stride(fields)

    @classmethod
    def create(cls, block: SharedBlock, fields: Fields, capacity: int, offset: int = 0) -> "Lane":
        """Lays out an empty lane at byte `offset` of a block, a multiple of 64. ValueError when it does not fit."""
        if capacity < 1 or offset % LINE:
            raise ValueError(
                f"a lane needs at least 1 chunk and an offset that is a multiple of {LINE}, not {capacity} and {offset}"
            )
        lane = cls(block, fields, capacity, offset)
        block.array(np.uint8, CHUNKS, offset)[:] = 0
        block.array(np.int64, 5, offset)[:] = MAGIC, LAYOUT_VERSION, layout_hash(fields), capacity, _stride(fields)
        return lane

    @classmethod
    def attach(cls, block: SharedBlock, fields: Fields, offset: int = 0) -> "Lane":
        """Finds the lane that another process laid out, and continues where its predecessor stopped.

        Raises ValueError when the lane was laid out for other fields or by another version.
        """
        magic, layout, found, capacity, stride = (int(word) for word in block.array(np.int64, 5, offset))
        if magic != MAGIC or layout != LAYOUT_VERSION:
            raise ValueError(
                f"expected a lane of layout {LAYOUT_VERSION} at offset {offset}, found {layout} with magic "
                f"{magic:#x}; create it first, and use the same version of this package in every process"
            )
        if found != layout_hash(fields) or stride != _stride(fields):
            raise ValueError(
                f"the lane at offset {offset} was laid out for other fields than {sorted(fields)}; "
                "describe the same names, types and shapes in the same order at both ends"
            )
        return cls(block, fields, capacity, offset)

    @property
    def waiting(self) -> int:
        """Committed chunks that the consumer has not released."""
        return _load(self._base + HEAD) - _load(self._base + TAIL)

    @property
    def has_room(self) -> bool:
        """Whether `reserve` would return a chunk, for a producer that waits instead of dropping."""
        return self.waiting < self.capacity

    @property
    def dropped(self) -> int:
        """Chunks that the producer gave up because the lane was full."""
        return _load(self._base + DROPPED)

    def reserve(self) -> Chunk | None:
        """Producer: the next chunk to fill, or None, counted as dropped, when the lane is full.

        Asking again before `commit` gives the same chunk; its arrays still hold what was there before.
        """
        head = _load(self._base + HEAD)
        dropped = self.dropped
        if head - _load(self._base + TAIL) >= self.capacity:
            _store(self._base + DROPPED, dropped + 1)
            return None
        self._reserved = True
        return Chunk(0, head + dropped, self._arrays[head % self.capacity])

    def commit(self, policy_version: int) -> None:
        """Producer: hands the reserved chunk over, made with the weights of `policy_version`."""
        if not self._reserved:
            raise RuntimeError("nothing is reserved in this lane; call reserve, fill the chunk, then commit it once")
        self._reserved = False
        head = _load(self._base + HEAD)
        self._labels[head % self.capacity][:] = policy_version, head + self.dropped
        _store(self._base + HEAD, head + 1)

    def peek(self) -> Chunk | None:
        """Consumer: the oldest chunk, in place until `release`; None when there is none."""
        tail = _load(self._base + TAIL)
        if _load(self._base + HEAD) == tail:
            return None
        policy_version, sequence = (int(word) for word in self._labels[tail % self.capacity])
        return Chunk(policy_version, sequence, self._arrays[tail % self.capacity])

    def release(self) -> None:
        """Consumer: gives the oldest chunk's room back; its arrays must not be used any more."""
        tail = _load(self._base + TAIL)
        if _load(self._base + HEAD) == tail:
            raise RuntimeError("this lane is empty: there is no chunk to release; call release once per peeked chunk")
        _store(self._base + TAIL, tail + 1)


def layout_hash(fields: Fields) -> int:
    """FNV-1a (64 bits, kept to 63) of the fields in order; equal at both ends or the lane is refused."""
    text = ";".join(f"{name}:{np.dtype(kind).str}:{tuple(shape)}" for name, (kind, shape) in fields.items())
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value >> 1


def _stride(fields: Fields) -> int:
    return LINE + sum(_padded(kind, shape) for kind, shape in fields.values())


def _padded(kind: str, shape: tuple[int, ...]) -> int:
    return -(-int(np.prod(shape)) * np.dtype(kind).itemsize // LINE) * LINE


def _views(block: SharedBlock, fields: Fields, start: int) -> dict[str, np.ndarray]:
    views, at = {}, start + LINE
    for name, (kind, shape) in fields.items():
        views[name] = block.array(kind, shape, at)
        at += _padded(kind, shape)
    return views


@njit(nogil=True, cache=True)
def _load(address):
    return load_acquire(address)


@njit(nogil=True, cache=True)
def _store(address, value):
    store_release(address, value)
