"""Opens a file that somebody else may have made: no pipe is waited for, and no more is read than it may have."""

from __future__ import annotations

import errno
import os
import stat

from dshq_widget.system.paths import BINARY, NO_LINK, NO_WAIT


def content_of(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a file. Raises OSError, also for what is no regular file and for one of more than `most` bytes."""
    with os.fdopen(regular(os.fspath(path), os.O_RDONLY), "rb") as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", os.fspath(path))
    return found


def begins_with(path: str | os.PathLike[str], beginning: bytes) -> bool:
    """Whether a file begins so, of which nothing else is read. Raises OSError, also for what is no regular file."""
    with os.fdopen(regular(os.fspath(path), os.O_RDONLY), "rb") as file:
        return file.read(len(beginning)) == beginning


def no_link(path: str, flags: int) -> int:
    """`opener` of a file that is written in a folder which may be somebody else's: a link may lead out of it. Raises
    OSError for one, and for what is no regular file.
    """
    return regular(path, flags | NO_LINK)


def regular(path: str, flags: int) -> int:
    """`opener` of a file that is read, wherever a link leads. Raises OSError for what is no regular file."""
    opened = os.open(path, flags | BINARY | NO_WAIT, 0o666)
    if stat.S_ISREG(os.fstat(opened).st_mode):
        return opened
    os.close(opened)
    raise OSError(errno.EINVAL, "it is no regular file", path)
