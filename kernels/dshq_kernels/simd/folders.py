"""The folder of what is made once on a machine: generated modules, machine code, measurements."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from dshq_kernels.simd.own_folder import is_own

UNFINISHED, KEPT_SECONDS = "dshq-new-", 24 * 3600.0
"""Name of a file that is being written, and how long a writer may take at most (assumed)."""
TEMPORARY = ("/tmp", "/var/tmp", "/usr/tmp")
"""Folders that are temporary also where one works in them."""
KEPT_FILES, USED_SECONDS = 400, 3600.0
"""Files of a kind that are kept at least, and how exactly it is known when one was used (assumed)."""


def cache_dir() -> Path:
    """$DSHQ_CACHE_DIR, else the user's cache folder, else a temporary one; it has a folder `rules`. Code in it is run:
    a folder that was not chosen must be this user's. Raises RuntimeError if none can be written.
    """
    for folder, private in _candidates():
        try:
            folder.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
            if private and not is_own(folder, stat.S_IWOTH):  # what a neighbour's link leads to is left as it is
                continue
            (folder / "rules").mkdir(exist_ok=True)
            if os.access(folder / "rules", os.W_OK):
                return folder
        except OSError:
            continue
    return _of_this_process()


def _candidates() -> Iterator[tuple[Path, bool]]:
    """Each folder in turn, and whether it must be this user's own. None lies in the working folder, which may be a
    stranger's that this user has unpacked: where the user has no home, or Python finds no temporary folder, it does.
    """
    chosen = os.environ.get("DSHQ_CACHE_DIR")
    if chosen:
        yield Path(chosen), False
    else:
        named = os.environ.get("XDG_CACHE_HOME", "")
        users = named if os.path.isabs(named) else os.path.expanduser("~/.cache")
        if os.path.isabs(users):
            yield Path(users) / "dshq", True
    try:
        temporary = tempfile.gettempdir()
        user = os.getuid() if hasattr(os, "getuid") else "user"
        if temporary in TEMPORARY or not os.path.samefile(temporary, os.curdir):
            yield Path(temporary) / f"dshq-{user}", True
    except FileNotFoundError:
        return


@cache
def _of_this_process() -> Path:
    """A folder that no other process finds."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="dshq-"))
    except FileNotFoundError as error:
        raise RuntimeError(
            "compiled code can be kept nowhere: no folder can be written, not even a temporary one. Set TMPDIR or "
            "DSHQ_CACHE_DIR to a folder that can be"
        ) from error
    (folder / "rules").mkdir()
    return folder


def write_whole(path: Path, content: bytes) -> None:
    """Write a file of the cache so that nobody ever sees half of it. What killed writers have left there is removed
    after a day. Raises OSError, and then leaves nothing.
    """
    for left in path.parent.glob(f"{UNFINISHED}*.tmp"):
        with contextlib.suppress(OSError):  # another process was faster
            if time.time() - left.stat().st_mtime > KEPT_SECONDS:
                left.unlink()
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=UNFINISHED, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def used(path: Path) -> bool:
    """Whether the cache has a file; if so, it is said to be in use."""
    try:
        if time.time() - path.stat().st_mtime > USED_SECONDS:
            os.utime(path)
    except PermissionError:  # somebody else's, who prunes it
        pass
    except FileNotFoundError:
        return False
    return True


def prune(folder: Path, pattern: str) -> None:
    """Remove the files of the cache that match, are not among the last `KEPT_FILES`, and have not been used for a
    day.
    """
    ages = []
    for path in folder.glob(pattern):
        with contextlib.suppress(OSError):  # another process was faster
            ages.append((time.time() - path.stat().st_mtime, path))
    for age, path in sorted(ages)[KEPT_FILES:]:
        if age > KEPT_SECONDS:
            with contextlib.suppress(OSError):
                path.unlink()
