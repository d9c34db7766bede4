"""Processor time of this process and of everything below it, from /proc (Linux)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

PROC = Path("/proc")
FIRST, LAST = 11, 15
"""utime, stime, cutime, cstime among the fields of /proc/PID/stat that follow the name (man proc_pid_stat)."""


def _stats() -> dict[int, tuple[int, float]]:
    """Parent and seconds, those of reaped children included, of every process."""
    second = os.sysconf("SC_CLK_TCK")
    found = {}
    for folder in PROC.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        found[int(folder.name)] = int(fields[1]), sum(map(int, fields[FIRST:LAST])) / second
    return found


def spent() -> float:
    """Seconds so far. A process that ends is counted by its parent; one whose parent ends first is lost."""
    own = os.times()
    total = own.user + own.system + own.children_user + own.children_system
    if not PROC.is_dir():
        return total
    stats = _stats()
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in stats.items():
        children.setdefault(parent, []).append(pid)
    below = children.get(os.getpid(), [])
    while below:
        total += sum(stats[pid][1] for pid in below)
        below = [child for pid in below for child in children.get(pid, ())]
    return total


def loop_seconds(clock: Callable[[], float]) -> float:
    """Seconds that a fixed piece of work in plain Python takes here: the best of three, which others disturb least."""
    found = []
    for _ in range(3):
        begin, total = clock(), 0
        for k in range(1_000_000):
            total = (total * 31 + k) % 1_000_003
        found.append(clock() - begin)
    return min(found)
