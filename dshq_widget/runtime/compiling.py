"""Compiling once on a machine: each piece of machine code has one compiler at a time, the others wait and load it.

numba keeps machine code on disk, but two processes that need the same function at once both compile it. `turn` lets the
first one compile; a stamp says later processes that nothing is left to wait for.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import llvmlite.binding as llvm
import numba

from dshq_kernels.simd.folders import cache_dir
from dshq_kernels.simd.kept import SOURCES
from dshq_widget.system import locks

POLL_SECONDS = 0.1


def stamp(piece: str, source: str = "") -> Path:
    """The file that says that `piece` has been compiled on this machine; `source` is what it depends on besides the
    kernels.
    """
    parts = (piece, source, SOURCES, numba.__version__, platform.python_version(), llvm.get_host_cpu_name())
    where = os.environ.get("NUMBA_CACHE_DIR", "")
    digest = hashlib.sha256("\n".join((*parts, where)).encode()).hexdigest()[:20]
    return cache_dir() / "compiled" / f"{piece}-{digest}"


@contextlib.contextmanager
def turn(piece: str, source: str = "", waits: Callable[[], None] | None = None) -> Iterator[None]:
    """Compile `piece` in the block, alone on this machine; `waits` is called if another process is compiling it."""
    done = stamp(piece, source)
    if done.exists():
        yield
        return
    done.parent.mkdir(parents=True, exist_ok=True)
    lock = _turn_of(done, waits)
    try:
        yield
        done.touch()
    finally:
        if lock is not None:
            lock.close()


def _turn_of(done: Path, waits: Callable[[], None] | None) -> locks.Lock | None:
    """The lock on what makes `done`; None if another process has made it, or if there are no locks here."""
    waiting = False
    while not done.exists():
        try:
            if (lock := locks.hold(done.with_suffix(".lock"))) is not None:
                return lock
        except locks.NoLocksError:
            return None
        if not waiting and waits is not None:
            waits()
        waiting = True
        time.sleep(POLL_SECONDS)
    return None
