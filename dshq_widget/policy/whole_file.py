"""Writes a file so that its path always holds the old file or the whole new one."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path


def write_whole(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write `content` to a temporary file in the folder of `path`, sync it and rename it; returns the absolute path.

    Temporary files of killed processes are removed. Raises OSError; then the old file is unchanged.
    """
    target = Path(os.path.abspath(os.path.expanduser(path)))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_native_id()}.tmp")
    _sweep(target)
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)
    return target


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
