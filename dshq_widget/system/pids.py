"""Processes by their number, on any system. To ask `os.kill(pid, 0)` whether one lives would end it on Windows."""

import functools
from pathlib import Path

import psutil


@functools.cache
def boot() -> str:
    """Tells apart machines, and a machine before and after its start; "" where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:  # only Linux has it
        return ""


def alive(pid: int) -> bool:
    """Whether a process of that number is at work. One that has ended is not, though its parent has not asked for its
    status yet, as the first process of a container may never do.
    """
    try:
        return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except (
        psutil.AccessDenied,
        OverflowError,
    ):  # no system has a number that is so large
        return True


def kill(pid: int) -> None:
    """End it at once, unless it has ended."""
    try:
        psutil.Process(pid).kill()
    except psutil.NoSuchProcess:
        return


def used(pid: int) -> float:
    """Processor seconds that it has had; 0 once it has ended."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)
