"""Write a file so that its path always holds the old file or the whole new one.

The bytes go to a new temporary file in the same folder, which is synced and then renamed; whoever could read and write
the old file can the new one, and nobody else. Its name holds a random part, and nothing that lies there already is
opened or followed. The next write of the same file removes what a killed process left: of this machine at once; what
is older than its last start, of another machine with the same home or of a container that is gone, after a day.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import re
import secrets
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from dshq_widget.system import paths, pids

DAY = 86_400.0
"""Seconds after which a file that is written within seconds belongs to nobody."""
ENDING = r"\.[0-9a-f]{8}\.[0-9]+\.[0-9a-f]{8}\.tmp"
"""Of a temporary file's name, as `_temporary` makes it."""
PROBE_BYTES = 1 << 20
"""Written and removed again by `check_writable`: more than most policies."""


def absolute(path: str | os.PathLike[str]) -> Path:
    """The absolute path of what a person wrote, `~` and `~name` included. The home of a user who does not exist is a
    folder of that name, as in a shell; `Path.expanduser` raises RuntimeError.
    """
    return Path(os.path.abspath(os.path.expanduser(path)))


def write(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write `content` to `path`; returns the absolute path. Raises OSError; then the old file is unchanged."""
    with aside(path) as file:
        file.write(content)
    return absolute(path)


@contextlib.contextmanager
def aside(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that becomes `path` once the block ends without an exception. Raises OSError, and whatever the
    block raises; then the old file is unchanged and nothing is left beside it.
    """
    target = absolute(path)
    _sweep(target)
    temporary = _temporary(target)
    try:
        with os.fdopen(_create(temporary, mode := _mode_of(target)), "w+b") as file:
            if mode is not None:
                paths.set_mode(file.fileno(), mode)  # a mask may have taken from it
            yield file
            file.flush()
            os.fsync(file.fileno())
        paths.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    paths.sync_folder(target.parent)


def reserve(path: str | os.PathLike[str]) -> Path:
    """A new empty file beside `path`, with its mode, for a writer in another process. Whoever reserves it renames or
    removes it; if they are killed, the next write of `path` does. Raises OSError.
    """
    target = absolute(path)
    _sweep(target)
    temporary = _temporary(target)
    descriptor = _create(temporary, mode := _mode_of(target))
    try:
        if mode is not None:
            paths.set_mode(descriptor, mode)
    finally:
        os.close(descriptor)
    return temporary


def check_writable(path: str | os.PathLike[str], nbytes: int = PROBE_BYTES) -> None:
    """Write `nbytes` bytes beside `path` and remove them again. Raises OSError if the file could not be written
    there: no such folder, a folder or a device at `path`, no permission, no space.
    """
    target = absolute(path)
    if target.is_dir():
        raise IsADirectoryError(None, "it is a folder", str(target))
    _refuse_device(target)
    _sweep(target)
    probe = _temporary(target)
    try:
        with os.fdopen(_create(probe), "wb") as file:
            file.write(bytes(nbytes))
            file.flush()
            os.fsync(file.fileno())
    finally:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            probe.unlink()


def _temporary(target: Path) -> Path:
    """A new name beside `target`, which tells the machine and the process."""
    return target.with_name(f".{target.name}.{machine()}.{os.getpid()}.{secrets.token_hex(4)}.tmp")


def _refuse_device(target: Path) -> None:
    """Raises OSError where a rename would take away a device or a pipe: /dev/null from everybody."""
    try:
        found = os.stat(target).st_mode
    except OSError:  # nothing is there
        return
    if not stat.S_ISREG(found) and not stat.S_ISDIR(found):
        raise OSError(errno.EINVAL, "it is a device or a pipe and no file", str(target))


def _mode_of(target: Path) -> int | None:
    """Who may read and write the file that is there; None if there is none. Raises OSError for a device."""
    _refuse_device(target)
    try:
        found = os.lstat(target).st_mode
    except FileNotFoundError:
        return None
    return stat.S_IMODE(found) & 0o777 if stat.S_ISREG(found) else None


def _create(path: Path, mode: int | None = None) -> int:
    """Open a file that is not there yet, with this mode or that of any new file."""
    return os.open(
        path,
        os.O_RDWR | os.O_CREAT | os.O_EXCL | paths.NO_LINK | paths.BINARY,
        0o666 if mode is None else mode | stat.S_IRUSR | stat.S_IWUSR,
    )


@functools.cache
def machine() -> str:
    """Tells apart those whose process numbers are others: machines, also of one name, where the system says which one
    it is, and containers of one machine.
    """
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:  # only Linux has it
        space = ""
    return hashlib.sha256(f"{socket.gethostname()} {pids.boot()} {space}".encode()).hexdigest()[:8]


def _sweep(target: Path) -> None:
    """Remove temporary files of `target`, and of files reserved beside it, that nobody writes any more."""
    name = re.escape(target.name)
    mine = re.compile(rf"\.(?:{name}|\.{name}{ENDING})({ENDING})")
    with contextlib.suppress(OSError):  # the writer says why
        for path in map(target.with_name, os.listdir(target.parent)):
            if (found := mine.fullmatch(path.name)) and _is_left(path, *found[1].split(".")[1:3]):
                with contextlib.suppress(OSError):  # another user's, or another process removes it
                    path.unlink()


def _is_left(path: Path, where: str, pid: str) -> bool:
    """Whether the process that made a temporary file has ended; where nobody can say, whether it is a day old."""
    if where == machine() and (int(pid) == os.getpid() or not pids.alive(int(pid))):
        return int(pid) != os.getpid()
    try:
        return time.time() - os.lstat(path).st_mtime > DAY
    except OSError:
        return False
