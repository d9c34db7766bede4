"""Write a file so that its path always holds the old file or the whole new one.

The bytes go to a temporary file in the same folder, which is synced and then renamed. Temporary files of killed
processes are removed by the next write of the same file.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

PROBE_BYTES = 1 << 20
"""Written and removed again by `check_writable`: more than most policies."""


def absolute(path: str | os.PathLike[str]) -> Path:
    """The absolute path, `~` included."""
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
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_native_id()}.tmp")
    _sweep(target)
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def check_writable(path: str | os.PathLike[str], nbytes: int = PROBE_BYTES) -> None:
    """Write `nbytes` bytes beside `path` and remove them again. Raises OSError if the file could not be written
    there: no such folder, a folder at `path`, no permission, no space.
    """
    target = absolute(path)
    if target.is_dir():
        raise IsADirectoryError(None, "it is a folder", str(target))
    probe = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_native_id()}.tmp")
    _sweep(target)
    try:
        with open(probe, "wb") as file:
            file.write(bytes(nbytes))
            file.flush()
            os.fsync(file.fileno())
    finally:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            probe.unlink()


def _sweep(target: Path) -> None:
    """Remove temporary files of `target` whose process no longer exists."""
    for left in target.parent.glob(f".{_glob_escape(target.name)}.*.tmp"):
        pid = left.name.split(".")[-3]
        if pid.isdigit() and int(pid) != os.getpid() and not _alive(int(pid)):
            left.unlink(missing_ok=True)


def _glob_escape(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _sync_directory(directory: Path) -> None:
    """Make the rename survive a power cut, if directories can be synced."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
