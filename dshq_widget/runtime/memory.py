"""Anonymous shared memory: nothing in /dev/shm, and nothing is left when all processes that map it have ended.

On Linux a block is a memfd, elsewhere an unlinked temporary file. It is allocated in full before it is mapped, so that
a lack of memory raises an exception here instead of a SIGBUS at the first write. A block is passed to a child as an
inherited descriptor (`subprocess` `pass_fds`), never by name.
"""

import errno
import fcntl
import mmap
import os
import tempfile

import numpy as np
from numpy.typing import DTypeLike

from dshq_widget.runtime.budget import memory_available

NO_ROOM = {errno.ENOSPC, errno.ENOMEM, errno.EFBIG, errno.EDQUOT}
ZEROS = bytes(1 << 20)


class SharedBlock:
    """A zero-filled, fixed-size piece of memory that other processes can map by its descriptor.

    `fd` is the descriptor to inherit, `nbytes` the size, `address` where this process maps it. Arrays made by `array`
    keep the mapping alive after `close`; a bare `address` does not.
    """

    def __init__(self, fd: int, nbytes: int):
        self.fd = fd
        self.nbytes = nbytes
        try:
            self._bytes: np.ndarray | None = np.frombuffer(mmap.mmap(fd, nbytes), np.uint8)  # u8[nbytes]
        except OSError as error:
            os.close(fd)
            raise _no_room(nbytes, error) if error.errno in NO_ROOM else error from error

    @classmethod
    def create(cls, nbytes: int, directory: str | None = None) -> "SharedBlock":
        """Allocates `nbytes` bytes of zeros.

        With `directory`, or where the system has no memfd, the block is an unlinked file in that directory (default:
        the temporary one). Raises ValueError for a size below 1 and MemoryError when the machine cannot hold the
        block.
        """
        nbytes = int(nbytes)
        if nbytes < 1:
            raise ValueError(f"a shared block needs at least 1 byte, got {nbytes}")
        available = memory_available()
        if (
            nbytes > available
        ):  # A memfd has no size limit of its own: allocating too much would trigger the OOM killer.
            raise MemoryError(_sentence(nbytes, f"only {_megabytes(available)} of memory is free"))
        fd = _anonymous_file(directory)
        try:
            _allocate(fd, nbytes)
            if hasattr(fcntl, "F_ADD_SEALS") and directory is None:
                _seal(fd)
        except OSError as error:
            os.close(fd)
            raise _no_room(nbytes, error) if error.errno in NO_ROOM else error from error
        return cls(fd, nbytes)

    @classmethod
    def attach(cls, fd: int, nbytes: int) -> "SharedBlock":
        """Maps an inherited descriptor, which the block then owns. ValueError when fewer than `nbytes` are there."""
        size = os.fstat(fd).st_size
        if size < nbytes:
            raise ValueError(
                f"descriptor {fd} holds {size} bytes, but {nbytes} were announced; pass the block's own fd and nbytes"
            )
        return cls(fd, nbytes)

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
        """Release the descriptor now, and the mapping with the last array made from it. Closing twice is fine."""
        fd, self.fd = self.fd, -1  # first: another thread may close it, too
        if fd >= 0:
            os.close(fd)
            self._bytes = None

    def _open_bytes(self) -> np.ndarray:
        if self._bytes is None:
            raise ValueError("this shared block is closed; create or attach another one")
        return self._bytes


def _anonymous_file(directory: str | None) -> int:
    if directory is None and hasattr(os, "memfd_create"):
        try:
            return os.memfd_create("dshq", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EPERM, errno.EINVAL):  # Forbidden in some sandboxes: use a file.
                raise
    with tempfile.TemporaryFile(dir=directory) as file:
        return os.dup(file.fileno())


def _allocate(fd: int, nbytes: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, nbytes)
        return
    for start in range(0, nbytes, len(ZEROS)):  # macOS: writing is the only way to allocate the memory.
        os.pwrite(fd, ZEROS[: nbytes - start], start)


def _seal(fd: int) -> None:
    """Fixes the size, so that no process can shrink it under another's mapping."""
    try:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
    except OSError as error:
        if error.errno != errno.EINVAL:  # EINVAL: a temporary file does not support seals.
            raise


def _no_room(nbytes: int, error: OSError) -> MemoryError:
    return MemoryError(_sentence(nbytes, f"the system reported: {error.strerror}"))


def _sentence(nbytes: int, reason: str) -> str:
    return (
        f"cannot get {_megabytes(nbytes)} of shared memory: {reason}; use fewer games (num_envs), a shorter "
        "rollout_length or a machine with more memory"
    )


def _megabytes(nbytes: float) -> str:
    return f"{nbytes / 1e6:,.1f} MB"
