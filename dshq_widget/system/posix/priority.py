"""Priorities of Linux and macOS: nice values, and on Linux the weight of a session's group (autogroup, sched(7))."""

import os
import sys
from pathlib import Path

ADJUSTABLE = sys.platform == "linux"
AUTOGROUP_SWITCH = Path("/proc/sys/kernel/sched_autogroup_enabled")


def niceness() -> int:
    return os.nice(0)


def step_aside(nice: int) -> None:
    if os.nice(0) < nice:
        os.nice(nice - os.nice(0))


def own_group() -> None:
    """A session of its own, where the kernel groups processes by session."""
    if _grouped() and os.getsid(0) != os.getpid():
        os.setsid()


def weigh(group: int | None, nice: int | None) -> None:
    """The nice value of this session's group, and of every thread of this process; None leaves it."""
    if group is not None:
        _weigh_group(group)
    if nice is not None:
        for thread in os.listdir("/proc/self/task"):
            os.setpriority(os.PRIO_PROCESS, int(thread), nice)


def _grouped() -> bool:
    try:
        return AUTOGROUP_SWITCH.read_text().strip() == "1"
    except OSError:
        return False


def _weigh_group(nice: int) -> None:
    """The kernel has no groups, or allows a change ten times a second at most."""
    try:
        with open("/proc/self/autogroup", "w") as file:
            file.write(str(nice))
    except (FileNotFoundError, BlockingIOError):
        return
