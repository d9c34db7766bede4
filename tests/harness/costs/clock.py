"""Processor time of this process and of everything below it, from /proc (Linux)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

PROC = Path("/proc")
FIRST, LAST = 11, 15
"""utime, stime, cutime, cstime among the fields of /proc/PID/stat that follow the name (man proc_pid_stat)."""


def _children(pid: int) -> Iterator[int]:
    """Asked of each thread, so that nobody reads about every process of the machine after every test."""
    with contextlib.suppress(OSError):  # it has just ended
        for thread in os.listdir(PROC / str(pid) / "task"):
            with contextlib.suppress(OSError):
                yield from map(int, (PROC / str(pid) / "task" / thread / "children").read_text().split())


def _seconds(pid: int) -> float:
    """Of a process and of those that it has reaped."""
    try:
        fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[FIRST:LAST])) / os.sysconf("SC_CLK_TCK")


def spent() -> float:
    """Seconds so far. A process that ends is counted by its parent; one whose parent ends first is lost."""
    own = os.times()
    total = own.user + own.system + own.children_user + own.children_system
    waiting = [os.getpid()]
    while waiting:
        below = list(_children(waiting.pop()))
        total += sum(map(_seconds, below))
        waiting += below
    return total


def loop_seconds(clock: Callable[[], float]) -> float:
    """Seconds that a fixed piece of work in plain Python takes now."""
    begin, total = clock(), 0
    for k in range(1_000_000):
        total = (total * 31 + k) % 1_000_003
    return clock() - begin
