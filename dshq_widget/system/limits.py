"""What this process has of the machine: processors, memory, and how much it took."""

import os
import sys

import psutil

from dshq_widget.system.form import PORTABLE

if not PORTABLE:
    import resource


def processors() -> list[int]:
    """Numbers of the processors on which this process may run."""
    if hasattr(psutil.Process, "cpu_affinity"):  # macOS has none
        return sorted(psutil.Process().cpu_affinity())
    return list(range(os.cpu_count() or 1))


def bind(pid: int, processor: int) -> None:
    """Let a process (0: this one) run on that processor alone, and what it starts from then on. Linux and Windows."""
    psutil.Process(pid or None).cpu_affinity([processor])


def total_memory() -> float:
    """Bytes of the machine."""
    return float(psutil.virtual_memory().total)


def free_memory() -> float:
    """Bytes that can be had now without swapping."""
    return float(psutil.virtual_memory().available)


def peak_memory() -> float:
    """Most bytes of memory that this process has had resident; where nobody counts them, what it has now."""
    if PORTABLE:
        found = psutil.Process().memory_info()
        return float(getattr(found, "peak_wset", found.rss))  # Windows counts it
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(peak if sys.platform == "darwin" else peak * 1024)  # bytes there, KiB elsewhere: getrusage(2)
