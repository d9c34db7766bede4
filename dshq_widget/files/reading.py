"""Reads a file that somebody else may have made: no pipe is waited for, and no more is taken than it may have."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from dshq_widget.system.paths import BINARY, NO_WAIT


def content_of(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a file. Raises OSError, also for what is no regular file and for one of more than `most` bytes."""
    with os.fdopen(os.open(Path(path), os.O_RDONLY | BINARY | NO_WAIT), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", os.fspath(path))
        found = file.read(most + 1)
    if len(found) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", os.fspath(path))
    return found
