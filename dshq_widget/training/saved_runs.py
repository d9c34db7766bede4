"""Runs that outlive their kernel: each has a folder for its autosave, and a later kernel can continue it.

A run is its owner's as long as the lock in it is held. Some homes have no locks, or locks that only one of two machines
sees. So the file `owner` says who the owner is: without locks a living process of this machine keeps its
run, and a run of another machine counts as living while something is written into it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

from dshq_widget.files import atomic
from dshq_widget.policy import checkpoint
from dshq_widget.runtime.scratch import owned_folder, remove
from dshq_widget.system import locks
from dshq_widget.system.finalize import finalize
from dshq_widget.system.pids import boot

AUTOSAVE, OWNER, LOCK = "autosave.dshq", "owner", "owner.lock"
"""A folder is a run once it has its file `OWNER`, which comes after the lock; so an unlocked run has no owner."""
COPIES = {"loaded.dshq", "arrived.dshq"}
"""Of files that were loaded: nobody's run is lost with them."""
KEPT = 5
"""Finished runs kept per drill."""
QUIET_SECONDS, DAY = 60.0, 86_400.0
"""A run of another machine that is trained is written every 20 s; one that has saved nothing may be empty for a day."""

log = logging.getLogger("dshq_widget")


class Run:
    """`path` is the folder, in `root`, of a run of the drill called `name`. Its lock ends with the process, however it
    ends; the autosave stays. Raises OSError if the folder cannot be written.
    """

    def __init__(self, root: Path, name: str, *resumed: str | None) -> None:
        """The files `resumed` stay, which the run continues from, or may at any moment."""
        place = folder_of(root, name)
        place.mkdir(parents=True, exist_ok=True)
        sources = {os.path.realpath(os.path.dirname(path)) for path in resumed if path}
        left = [run for run in _left(place) if os.path.realpath(run) not in sources]
        empty = [run for run in left if not _kept(run) and (_here(run) or _age(run) > DAY)]
        for earlier in empty + [run for run in left if _kept(run)][KEPT:]:
            shutil.rmtree(earlier, ignore_errors=True)
        self.path, lock = owned_folder(place, "", LOCK)
        me = psutil.Process()
        who = {"boot": boot(), "machine": atomic.machine(), "pid": me.pid, "began": me.create_time(), "lock": LOCK}
        try:
            atomic.write(self.path / OWNER, json.dumps(who).encode())
        except OSError:
            remove(self.path, lock)  # it is no run, and nobody would ever remove it
            raise
        self._end = finalize(self, _leave, self.path, lock)

    @property
    def stays(self) -> bool:
        """Whether `close` leaves the folder, since something is kept in it."""
        return bool(_kept(self.path))

    def close(self) -> None:
        """Release the run for a later kernel; a folder in which nothing is kept is removed. Twice is fine."""
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


def earlier(root: Path, name: str, rules_hash: str, algorithm: str) -> Earlier | None:
    """The newest run of this drill with the same rules and the same algorithm whose kernel has ended; None if there is
    none. A newer one of other rules is passed over, and the log says so.
    """
    told = False
    for run in _left(folder_of(root, name)):
        path = run / AUTOSAVE
        try:
            saved, written = checkpoint.load(path), path.stat().st_mtime
        except (checkpoint.CheckpointError, OSError):  # cut off by a full disk, or written by a newer release
            continue
        if saved.algorithm != algorithm or saved.step <= 0:
            continue
        if saved.rules_hash == rules_hash:
            return Earlier(path, written, saved.version, saved.step)
        if not told:
            told = True
            log.warning("your run of %s in %s had other rules, and is not resumed: policy=FILE plays it", name, path)
    return None


def _left(place: Path) -> list[Path]:
    """Runs without a living owner, newest first."""
    found = [run for run in _folders(place) if not _owned(run)]
    return sorted(found, key=_saved_at, reverse=True)


def _folders(place: Path) -> list[Path]:
    """Those that are runs; without what cannot be read, such as another user's."""
    try:
        return [run for run in place.iterdir() if _has(run, OWNER)]
    except OSError:
        return []


def _has(run: Path, name: str) -> bool:
    """Whether there is a file of that name, as far as one can see."""
    try:
        return (run / name).is_file()
    except OSError:
        return False


def _kept(run: Path) -> list[Path]:
    """The files of what was learned there: its autosave, and what a loaded file or a new network has replaced."""
    return [path for path in run.glob("*.dshq") if path.name not in COPIES and _has(run, path.name)]


def _saved_at(run: Path) -> float:
    """When something was kept there last; 0 if nothing was."""
    times = [0.0]
    for path in _kept(run):
        with contextlib.suppress(OSError):
            times.append(path.stat().st_mtime)
    return max(times)


def _owned(run: Path) -> bool:
    try:
        who = _who((run / OWNER).read_bytes()[:1000])
        free = _free(run) if "lock" in who else None  # an earlier release locked another file
    except OSError:  # another process is removing it
        return True
    if free is False:
        return True
    if free:
        return who.get("boot", boot()) != boot() and _age(run) < QUIET_SECONDS
    if (who.get("boot"), who.get("machine")) == (boot(), atomic.machine()):
        return _lives(who)
    return _age(run) < QUIET_SECONDS


def _free(run: Path) -> bool | None:
    """Whether nobody holds the lock of a run; None where there are no locks."""
    try:
        lock = locks.hold(run / LOCK)
    except locks.NoLocksError:
        return None
    if lock is None:
        return False
    lock.close()
    return True


def _who(text: bytes) -> dict[str, Any]:
    """What an owner's file says; releases before it said anything leave it empty."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _lives(who: Mapping[str, Any]) -> bool:
    """Whether that process of this machine runs."""
    try:
        return bool(psutil.Process(who["pid"]).create_time() == who["began"])
    except (psutil.Error, KeyError, TypeError, ValueError, OverflowError):
        return False


def _here(run: Path) -> bool:
    """Whether a run is one of this machine, or of a release before files said that."""
    try:
        return bool(_who((run / OWNER).read_bytes()[:1000]).get("boot", boot()) == boot())
    except OSError:
        return False


def _age(run: Path) -> float:
    """Seconds since something was written into a run."""
    written = [0.0]
    for path in (run, run / OWNER, run / AUTOSAVE):
        with contextlib.suppress(OSError):
            written.append(path.stat().st_mtime)
    return time.time() - max(written)


def _leave(path: Path, lock: locks.Lock | None) -> None:
    if not _kept(path):
        remove(path, lock)
    elif lock is not None:
        lock.close()
