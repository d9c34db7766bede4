"""Shared memory as arrays. It is allocated in full before it is used, so that a lack of memory raises an exception
here. What it is made of, and how a child finds it: `dshq_widget.system.memory`.
"""

import errno

import numpy as np
from numpy.typing import DTypeLike

from dshq_widget.runtime.budget import memory_available
from dshq_widget.system import memory

NO_ROOM = {errno.ENOSPC, errno.ENOMEM, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
NO_COMMIT = 1455
"""Windows: the paging file is too small (ERROR_COMMITMENT_LIMIT)."""


class SharedBlock:
    """A zero-filled, fixed-size piece of memory that other processes can map.

    `nbytes` is the size, `address` where this process maps it. Arrays made by `array` keep the mapping alive after
    `close`; a bare `address` does not.
    """

    def __init__(self, piece: memory.Piece, nbytes: int):
        self.nbytes = nbytes
        self._piece = piece
        self._bytes: np.ndarray | None = np.frombuffer(piece.map or b"", np.uint8)  # u8[nbytes]

    @classmethod
    def create(cls, nbytes: int, directory: str | None = None) -> "SharedBlock":
        """Allocates `nbytes` bytes of zeros; `directory` is for a system that makes them a file. Raises ValueError for
        a size below 1 and MemoryError when the machine cannot hold the block.
        """
        nbytes = int(nbytes)
        if nbytes < 1:
            raise ValueError(f"a shared block needs at least 1 byte, got {nbytes}")
        available = memory_available()
        if (
            nbytes > available
        ):  # A memfd has no size limit of its own: allocating too much would trigger the OOM killer.
            raise MemoryError(_sentence(nbytes, f"only {_megabytes(available)} of memory is free"))
        try:
            return cls(memory.create(nbytes, directory), nbytes)
        except OSError as error:
            raise _no_room(nbytes, error) if _is_lack(error) else error from error

    @classmethod
    def attach(cls, where: int | str, nbytes: int) -> "SharedBlock":
        """Maps another process's block by its `where`. ValueError when fewer than `nbytes` are there."""
        return cls(memory.attach(where, nbytes), nbytes)

    @property
    def where(self) -> int | str:
        """What `attach` asks for, in a child that was started with this block. Raises ValueError after `close`."""
        self._open_bytes()
        return self._piece.where

    @property
    def address(self) -> int:
        """Address of byte 0 in this process."""
        return self._open_bytes().ctypes.data

    def array(self, dtype: DTypeLike, shape: int | tuple[int, ...], offset: int = 0) -> np.ndarray:
        """A view, not a copy, of `shape` items of `dtype` from byte `offset` on. ValueError when it does not fit."""
        view_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if offset < 0 or offset + view_bytes > self.nbytes:
            raise ValueError(
                f"an array of {view_bytes} bytes at offset {offset} does not fit in a block of {self.nbytes} bytes; "
                "create a larger block"
            )
        return self._open_bytes()[offset : offset + view_bytes].view(dtype).reshape(shape)

    def close(self) -> None:
        """Let go of it now, and of the mapping with the last array made from it. Closing twice is fine."""
        self._piece.close()
        self._bytes = None

    def _open_bytes(self) -> np.ndarray:
        if self._bytes is None:
            raise ValueError("this shared block is closed; create or attach another one")
        return self._bytes


def _is_lack(error: OSError) -> bool:
    return error.errno in NO_ROOM or getattr(error, "winerror", None) == NO_COMMIT


def _no_room(nbytes: int, error: OSError) -> MemoryError:
    return MemoryError(_sentence(nbytes, f"the system reported: {error.strerror}"))


def _sentence(nbytes: int, reason: str) -> str:
    return (
        f"cannot get {_megabytes(nbytes)} of shared memory: {reason}; use fewer games (num_envs), a shorter "
        "rollout_length or a machine with more memory"
    )


def _megabytes(nbytes: float) -> str:
    return f"{nbytes / 1e6:,.1f} MB"
