"""Shared memory by name. On Windows the name is the system's (of the kind that multiprocessing.shared_memory makes) and
goes with the last process that maps it. Elsewhere it is a file in the temporary folder, which its owner removes, or
whoever makes the next one if its owner was killed.
"""

import contextlib
import mmap
import os
import secrets
import tempfile
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import psutil

from dshq_widget.system.finalize import finalize
from dshq_widget.system.paths import BINARY, NO_LINK

WINDOWS = os.name == "nt"
PREFIX = "dshq-block-"
ZEROS = bytes(1 << 20)
ANONYMOUS = "memory with a name of the system's" if WINDOWS else "files in the temporary folder"


class Piece:
    """A piece of memory that is mapped here; see `dshq_widget.system.memory`."""

    def __init__(self, where: str, mapping: mmap.mmap, *, own: bool) -> None:
        self.map: mmap.mmap | None = mapping
        self._where = where
        self._end = finalize(self, Path(where).unlink, missing_ok=True) if own and not WINDOWS else None

    @property
    def where(self) -> str:
        """The name; "" after `close`."""
        return self._where if self.map is not None else ""

    def close(self) -> None:
        self.map = None
        if self._end:
            self._end()


def create(nbytes: int, directory: str | None = None) -> Piece:
    if WINDOWS:
        where = PREFIX + secrets.token_hex(8)
        return Piece(where, mmap.mmap(-1, nbytes, tagname=where), own=True)  # type: ignore[call-arg]
    root = Path(directory or tempfile.gettempdir())
    _sweep(root)
    path = root / f"{PREFIX}{os.getpid()}-{_began(os.getpid())}-{secrets.token_hex(8)}"
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | BINARY | NO_LINK, 0o600)
    try:
        os.ftruncate(fd, nbytes)
        piece = Piece(str(path), mmap.mmap(fd, nbytes), own=True)
        for start in range(0, nbytes, len(ZEROS)):  # a full disk is an error here, not at the first write
            os.write(fd, ZEROS[: nbytes - start])
    except OSError:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)
    return piece


def attach(where: int | str, nbytes: int) -> Piece:
    """Raises ValueError when fewer than `nbytes` bytes are there."""
    where = str(where)
    if WINDOWS:
        there = SharedMemory(name=where)  # a mapping with an unknown name would be a new one
        size = there.size
        mapping = mmap.mmap(-1, min(size, nbytes), tagname=where)  # type: ignore[call-arg]
        there.close()
    else:
        with open(where, "r+b") as file:
            size = os.fstat(file.fileno()).st_size
            mapping = mmap.mmap(file.fileno(), min(size, nbytes))
    if size < nbytes:
        raise ValueError(
            f"{where} holds {size} bytes, but {nbytes} were announced; pass the block's own place and size"
        )
    return Piece(where, mapping, own=False)


def _sweep(root: Path) -> None:
    """Remove the files of this user's processes that were killed."""
    for path in root.glob(f"{PREFIX}*-*-*"):
        owner, began = path.name.removeprefix(PREFIX).split("-")[:2]
        if owner.isdigit() and _began(int(owner)) != began:
            with contextlib.suppress(OSError):  # another user's, or another process removes it
                path.unlink()


def _began(pid: int) -> str:
    """When a process began; "" if there is none of that number."""
    try:
        return f"{psutil.Process(pid).create_time():.1f}"
    except psutil.Error:
        return ""
