"""Shared memory without a name: on Linux a memfd, elsewhere an unlinked temporary file. It is allocated in full before
it is mapped, so that a lack of memory is an error here instead of a SIGBUS at the first write. A child inherits the
descriptor. Nothing is left when all processes that map it have ended.
"""

import errno
import fcntl
import mmap
import os
import tempfile

from dshq_widget.system.finalize import finalize

ZEROS = bytes(1 << 20)
ANONYMOUS = "anonymous memory works; /dev/shm is not used"


class Piece:
    """A piece of memory that is mapped here; see `dshq_widget.system.memory`. It owns the descriptor, which is closed
    with it if `close` was not called.
    """

    def __init__(self, fd: int, nbytes: int) -> None:
        self._fd = fd
        try:
            self.map: mmap.mmap | None = mmap.mmap(fd, nbytes)
        except OSError:
            os.close(fd)
            raise
        self._end = finalize(self, os.close, fd)
        self._end.atexit = False  # the system closes it

    @property
    def where(self) -> int:
        """The descriptor; -1 after `close`."""
        return self._fd

    def close(self) -> None:
        if self._end.detach():  # once: another thread may close it, too
            fd, self._fd = self._fd, -1
            os.close(fd)
            self.map = None


def create(nbytes: int, directory: str | None = None) -> Piece:
    fd = _anonymous_file(directory)
    try:
        _allocate(fd, nbytes)
        if hasattr(fcntl, "F_ADD_SEALS") and directory is None:
            _seal(fd)
    except OSError:
        os.close(fd)
        raise
    return Piece(fd, nbytes)


def attach(where: int | str, nbytes: int) -> Piece:
    """Raises ValueError when fewer than `nbytes` bytes are there."""
    size = os.fstat(int(where)).st_size
    if size < nbytes:
        raise ValueError(
            f"descriptor {where} holds {size} bytes, but {nbytes} were announced; pass the block's own place and size"
        )
    return Piece(int(where), nbytes)


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
