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


def descriptors(most: int) -> int:
    """Files and connections that this process may have open, `most` if the system allows that many."""
    if PORTABLE:
        return most  # Windows has no limit that a server would reach
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def limit_files(nbytes: int) -> None:
    """Let this process, and what it starts from then on, write no file of more bytes. Not on Windows."""
    if not PORTABLE:
        resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, nbytes))


def limit_memory(nbytes: int, pid: int = 0) -> None:
    """Let a process (0: this one), and each that it starts from then on, have no more bytes for itself. Linux alone."""
    if sys.platform == "linux":
        process = psutil.Process(pid or None)
        hard = process.rlimit(psutil.RLIMIT_DATA)[1]
        most = nbytes if hard == psutil.RLIM_INFINITY else min(nbytes, hard)
        process.rlimit(psutil.RLIMIT_DATA, (most, most))
