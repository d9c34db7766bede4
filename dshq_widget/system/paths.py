"""Files and folders, on any system."""

import contextlib
import os
import time
from pathlib import Path

from dshq_widget.system.form import PORTABLE

BINARY = getattr(os, "O_BINARY", 0)
"""For `os.open`: Windows would change the ends of lines."""
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""For `os.open`: no link is followed, where there are such."""
NO_WAIT = getattr(os, "O_NONBLOCK", 0)
"""For `os.open`: no named pipe is waited for, where there are such."""
PATIENCE_SECONDS = 2.0
"""Windows replaces no file that somebody has open; a reader or a virus scanner has one for milliseconds."""


def replace(new: str | os.PathLike[str], old: str | os.PathLike[str]) -> None:
    """Give the file `new` the name `old`, in place of what is there. Raises OSError; then nothing has changed."""
    over = time.monotonic() + (PATIENCE_SECONDS if PORTABLE else 0.0)
    while True:
        try:
            os.replace(new, old)
            return
        except PermissionError:
            if time.monotonic() >= over:
                raise
        time.sleep(0.02)


def sync_folder(folder: Path) -> None:
    """Make what was renamed in a folder survive a power cut, where a folder can be synced."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def room_in(folder: str) -> float:
    """Free bytes of the file system of a folder; infinite where there is no such folder."""
    try:
        found = os.statvfs(folder) if hasattr(os, "statvfs") else None
    except OSError:
        return float("inf")
    return float(found.f_bavail) * found.f_frsize if found else float("inf")


def set_mode(descriptor: int, mode: int) -> None:
    """The access rights of an open file, where it has such: by its name somebody else's could be meant by now."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)
