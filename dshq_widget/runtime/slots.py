"""Policy weights from one learner to any number of readers: three slots in shared memory under a seqlock.

The writer never waits for a reader and a reader never waits for the writer. Memory layout, little-endian, version 1;
every control word has a cache line of 64 bytes to itself:

    offset  type      content
    0       i64       magic, the bytes "DSHQWGTS"
    8       i64       layout version, 1
    16      i64       n, floats per slot
    24      i64       stride, bytes from one slot to the next (a multiple of 64)
    64      i64       latest: the newest complete version, 0 before the first
    128     i64       seq[0], of slot 0: 2v when it holds version v, 2v - 1 while v is being written
    192     i64       seq[1]
    256     i64       seq[2]
    320     slot 0    i64 step, i64 version, zeros up to 64 bytes, then f32[n], zeros up to the stride
    320 + stride      slot 1
    320 + 2 stride    slot 2

Version v lives in slot v mod 3, so the slot that readers are sent to is never the one being written, nor the one
written before: a reader has two publications' time for its copy. Protocol (a seqlock as in H.-J. Boehm, "Can seqlocks
get along with programming language memory models?", MSPC 2012, with fences):

    publish v                          read, holding version `have`
      store_relaxed seq[s] = 2v - 1      v = load_acquire latest; if v <= have: nothing new
      fence_release                      if load_acquire seq[s] != 2v: again
      copy step, version, weights        copy step and weights to a private buffer
      store_release seq[s] = 2v          fence_acquire
      store_release latest = v           accept if load_relaxed seq[s] == 2v, else again

A writer killed anywhere in between leaves `latest` and its slot as they were; its successor writes the same slot again.
"""

import numpy as np
from numba import njit

from dshq_kernels.simd.atomics import (
    fence_acquire,
    fence_release,
    load_acquire,
    load_relaxed,
    store_relaxed,
    store_release,
)
from dshq_widget.runtime.memory import SharedBlock

MAGIC = int.from_bytes(b"DSHQWGTS", "little")
LAYOUT_VERSION = 1
LINE = 64  # bytes in a cache line
LATEST = 64  # byte offsets, as above
SEQUENCES = 128
SLOTS = 320
N_SLOTS = 3
HEAD_FLOATS = LINE // 4  # floats of a slot before the weights
ATTEMPTS = 8


class WeightSlots:
    """One writer's or one reader's view of the slots in a shared block. Make it with `create` or `attach`."""

    def __init__(self, block: SharedBlock, n_floats: int, offset: int):
        self.n_floats = n_floats
        stride = _stride(n_floats)
        self._base = block.address + offset
        self._floats = block.array(np.float32, (N_SLOTS, stride // 4), offset + SLOTS)
        self._words = block.array(np.int64, (N_SLOTS, stride // 8), offset + SLOTS)

    @staticmethod
    def nbytes_for(n_floats: int) -> int:
        """Bytes that slots for `n_floats` weights take."""
        return SLOTS + N_SLOTS * _stride(n_floats)

    @classmethod
    def create(cls, block: SharedBlock, n_floats: int, offset: int = 0) -> "WeightSlots":
        """Lays out empty slots at byte `offset` of a block, a multiple of 64. ValueError when they do not fit."""
        if n_floats < 1 or offset % LINE:
            raise ValueError(
                f"slots need at least 1 weight and an offset that is a multiple of {LINE}, not {n_floats} and {offset}"
            )
        slots = cls(block, n_floats, offset)
        block.array(np.uint8, SLOTS, offset)[:] = 0
        block.array(np.int64, 4, offset)[:] = MAGIC, LAYOUT_VERSION, n_floats, _stride(n_floats)
        return slots

    @classmethod
    def attach(cls, block: SharedBlock, n_floats: int | None = None, offset: int = 0) -> "WeightSlots":
        """Finds the slots that another process laid out. Raises ValueError when their layout or size is another one."""
        magic, layout, found, stride = (int(word) for word in block.array(np.int64, 4, offset))
        if magic != MAGIC or layout != LAYOUT_VERSION or stride != _stride(found):
            raise ValueError(
                f"expected weight slots of layout {LAYOUT_VERSION} at offset {offset}, found layout {layout} with "
                f"magic {magic:#x}: create them first, and use the same version of this package in every process"
            )
        if n_floats is not None and found != n_floats:
            raise ValueError(
                f"expected slots for {n_floats} weights, found slots for {found}: a different network needs new slots"
            )
        return cls(block, found, offset)

    @property
    def latest(self) -> int:
        """Newest complete version; 0 before the first. A restarted writer continues with `latest + 1`."""
        return _latest(self._base)

    def publish(self, version: int, step: int, blob: np.ndarray) -> None:
        """Makes f32[n_floats] weights visible to all readers as `version`, with the training `step` they come from.

        The first version may be any positive number, each further one is `latest + 1`: skipping could overwrite the
        slot that readers use. One writer at a time. Raises ValueError, with nothing changed, for a wrong version,
        size, type or a weight that is not finite.
        """
        latest = self.latest
        if version < 1 or (latest and version != latest + 1):
            raise ValueError(f"version {latest} was published last, so the next one is {latest + 1}, not {version}")
        if blob.dtype != np.float32 or blob.shape != (self.n_floats,):
            raise ValueError(
                f"expected float32 weights of shape ({self.n_floats},), got {blob.dtype} of shape {blob.shape}; "
                "flatten the network, or create new slots for its new shape"
            )
        if not _publish(self._base, version, step, np.ascontiguousarray(blob), self._floats, self._words):
            bad = np.flatnonzero(~np.isfinite(blob))
            raise ValueError(
                f"{bad.size} of {blob.size} weights are not finite, the first at index {bad[0]}; nothing was "
                "published: revert to the last good weights"
            )

    def read(self, have_version: int = 0) -> tuple[int, int, np.ndarray] | None:
        """The newest (version, step, f32[n_floats] copy), or None when nothing newer than `have_version` is there.

        Also None if the writer overtook the copy 8 times in a row: keep the current one and try again later.
        """
        if self.latest <= have_version:
            return None
        blob = np.empty(self.n_floats, np.float32)
        version, step = _read(self._base, have_version, self._floats, self._words, blob)
        return (version, step, blob) if version else None


def _stride(n_floats: int) -> int:
    return LINE + -(-n_floats * 4 // LINE) * LINE


@njit(nogil=True, cache=True)
def _latest(base):
    return load_acquire(base + LATEST)


@njit(nogil=True, cache=True)
def _publish(base, version, step, blob, floats, words):
    """The writer's half of the protocol; floats f32[3, stride / 4] and words i64[3, stride / 8] are the same memory.

    False, with nothing written, when a weight is not finite.
    """
    broken = 0
    for k in range(blob.size):
        broken |= not np.isfinite(blob[k])
    if broken:
        return False
    slot = version % N_SLOTS
    sequence = base + SEQUENCES + LINE * slot
    store_relaxed(sequence, 2 * version - 1)
    fence_release()
    words[slot, 0] = step
    words[slot, 1] = version
    for k in range(blob.size):
        floats[slot, HEAD_FLOATS + k] = blob[k]
    store_release(sequence, 2 * version)
    store_release(base + LATEST, version)
    return True


@njit(nogil=True, cache=True)
def _read(base, have, floats, words, out):
    """The reader's half: fills f32[n] `out` and returns (version, step); (0, 0) when there is nothing to take."""
    for _ in range(ATTEMPTS):
        version = load_acquire(base + LATEST)
        if version <= have:
            return 0, 0
        slot = version % N_SLOTS
        sequence = base + SEQUENCES + LINE * slot
        if load_acquire(sequence) != 2 * version:
            continue
        step = words[slot, 0]
        for k in range(out.size):
            out[k] = floats[slot, HEAD_FLOATS + k]
        fence_acquire()
        if load_relaxed(sequence) == 2 * version:
            return version, step
    return 0, 0
