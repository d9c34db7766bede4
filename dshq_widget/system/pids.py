"""Processes by their number, on any system. To ask `os.kill(pid, 0)` whether one lives would end it on Windows."""

import psutil


def alive(pid: int) -> bool:
    """Whether there is a process of that number."""
    try:
        return psutil.pid_exists(pid)
    except OverflowError:  # no system has such a number: leave alone what it names
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
