"""Runs that outlive their kernel: each has a folder for its autosave, and a later kernel can continue it."""

from __future__ import annotations

import dataclasses
import fcntl
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path

from dshq_widget.policy import checkpoint

AUTOSAVE, OWNER, NEW = "autosave.dshq", "owner", "new-"
"""A folder loses the prefix `NEW` once its file `OWNER` is locked, so an unlocked file means a dead kernel."""
KEPT = 5
"""Finished runs kept per drill."""


class Run:
    """`path` is the folder, in `root`, of a run of the drill called `name`. The lock on its owner file ends with the
    process, however it ends (flock(2)); the autosave stays. Raises OSError if the folder cannot be written.
    """

    def __init__(self, root: Path, name: str) -> None:
        place = folder_of(root, name)
        place.mkdir(parents=True, exist_ok=True)
        for earlier in [run for run in _left(place) if not (run / AUTOSAVE).exists()] + _left(place)[KEPT:]:
            shutil.rmtree(earlier, ignore_errors=True)
        made = Path(tempfile.mkdtemp(prefix=NEW, dir=place))
        owner = os.open(made / OWNER, os.O_CREAT | os.O_WRONLY, 0o600)
        _lock(owner)
        self.path = made.rename(made.with_name(made.name.removeprefix(NEW)))
        self._end = weakref.finalize(self, _leave, self.path, owner)

    def close(self) -> None:
        """Release the run for a later kernel; without an autosave its folder is removed. Twice is fine."""
        self._end()


@dataclasses.dataclass(frozen=True)
class Earlier:
    """An autosave whose kernel has ended."""

    path: Path
    saved_at: float
    """Seconds since 1970."""
    version: int
    step: int
    """Agent steps of its training."""


def folder_of(root: Path, name: str) -> Path:
    """The folder of a drill's runs."""
    return root / re.sub("[^A-Za-z0-9_.]+", "-", name)


def earlier(root: Path, name: str, rules_hash: str) -> Earlier | None:
    """The newest run of this drill with the same rules whose kernel has ended; None if there is none."""
    for run in _left(folder_of(root, name)):
        path = run / AUTOSAVE
        try:
            saved, written = checkpoint.load(path), path.stat().st_mtime
        except (checkpoint.CheckpointError, OSError):  # cut off by a full disk, or written by a newer release
            continue
        if saved.rules_hash == rules_hash and saved.version > 0:
            return Earlier(path, written, saved.version, saved.step)
    return None


def _left(place: Path) -> list[Path]:
    """Runs without a living owner, newest first."""
    found = [run for run in _folders(place) if not _owned(run)]
    return sorted(found, key=_saved_at, reverse=True)


def _folders(place: Path) -> Iterator[Path]:
    if place.is_dir():
        yield from (run for run in place.iterdir() if (run / OWNER).is_file() and not run.name.startswith(NEW))


def _saved_at(run: Path) -> float:
    try:
        return (run / AUTOSAVE).stat().st_mtime
    except OSError:
        return 0.0


def _owned(run: Path) -> bool:
    try:
        owner = os.open(run / OWNER, os.O_WRONLY)
    except OSError:  # another process is removing it
        return True
    try:
        return not _lock(owner)
    finally:
        os.close(owner)


def _lock(owner: int) -> bool:
    """Lock an open file; False if another process holds the lock. A file system without locks always grants it."""
    try:
        fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _leave(path: Path, owner: int) -> None:
    if not (path / AUTOSAVE).exists():
        shutil.rmtree(path, ignore_errors=True)
    os.close(owner)
