"""Priorities of Linux and macOS: nice values, and on Linux the weight of a session's group (autogroup, sched(7))."""

import os
import sys
from contextlib import suppress
from pathlib import Path

ADJUSTABLE = sys.platform == "linux"
AUTOGROUP_SWITCH = Path("/proc/sys/kernel/sched_autogroup_enabled")
GROUP = Path("/proc/self/autogroup")


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
            with suppress(ProcessLookupError):  # it has ended since
                os.setpriority(os.PRIO_PROCESS, int(thread), nice)


def _grouped() -> bool:
    try:
        return AUTOGROUP_SWITCH.read_text().strip() == "1"
    except OSError:
        return False


def _weigh_group(nice: int) -> None:
    """Nothing where the kernel has no groups, or this session is in none (GROUP is empty then, and a write is refused
    with EINVAL: kernel/sched/fair.c, sched_group_set_shares). The kernel allows a change ten times a second at most.
    """
    with suppress(FileNotFoundError, BlockingIOError):
        if GROUP.read_text().strip():
            GROUP.write_text(str(nice))
