"""Child processes of Linux and macOS. Memory is inherited as descriptors. Linux ends a child with its parent
(prctl(2), PR_SET_PDEATHSIG), in fact with the *thread* that started it, so that thread has to live as long as the
children; elsewhere `Parent` has to be asked.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>
START_METHOD = "forkserver"
"""Not fork: a copy of this process would keep its pipes open and copy threads in an unknown state."""


GROUP: dict[str, Any] = {"process_group": 0}


def start(
    command: Sequence[str], environment: Mapping[str, str], places: Sequence[int | str]
) -> subprocess.Popen[bytes]:
    """`command` is what follows the interpreter's name."""
    return subprocess.Popen(
        [sys.executable, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        pass_fds=[int(place) for place in places],
        env=environment,
    )


def end_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # nothing is left
        os.killpg(pid, signal.SIGKILL)


def keep_interrupts_away() -> None:
    """Children inherit what this thread blocks, and so ignore interrupts from their start."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def ignore_interrupts() -> None:
    """A terminal that is closed and `timeout` send theirs to the whole group, too. No process that this one starts
    inherits that: those of others' libraries are ended by SIGTERM.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    asks = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) == signal.SIG_DFL]
    for number in asks:
        signal.signal(number, lambda *_: None)  # a new program has the default again, and a fork:
    os.register_at_fork(after_in_child=lambda: [signal.signal(number, signal.SIG_DFL) for number in asks])
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # it was blocked where this process was started


def interrupt(thread: int, number: int) -> None:
    signal.pthread_kill(thread, number)


def die_with(parent: int, status: int) -> None:
    """End this process once its parent ends, or at once, with `status`, if it has ended already. Only Linux has the
    signal; elsewhere only the second part is done.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if not Parent(parent).lives():  # it ended before the line above
        os._exit(status)


class Parent:
    """The process that started this one."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def lives(self) -> bool:
        return os.getppid() == self._pid


class Pulse:
    """What a process does, by the states of its threads (proc_pid_stat(5))."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def beats(self, beside: float = 0.0) -> bool:
        """Whether a thread of it runs, or waits for a processor or a disk; `beside` is for the portable form."""
        try:
            if sys.platform != "linux":
                return psutil.Process(self._pid).status() in (psutil.STATUS_RUNNING, psutil.STATUS_DISK_SLEEP)
            stats = [path.read_text() for path in Path(f"/proc/{self._pid}/task").glob("*/stat")]
        except (OSError, psutil.Error):  # it is ending
            return False
        return any(stat.rpartition(")")[2].split()[0] in ("R", "D") for stat in stats)
