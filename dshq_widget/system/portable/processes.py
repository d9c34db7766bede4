"""Child processes of any system. Each is in a group of its own, so that what interrupts the parent does not reach it.
It finds out by itself that its parent has ended: its standard input ends, and a thread asks twice a second.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import psutil

from dshq_widget.system.pids import used

START_METHOD = "spawn"
WATCH_SECONDS = 0.5
PULSE_SECONDS = 1.5
"""Without processor time for so long, a process is taken to wait for something else."""


GROUP: dict[str, Any] = {}


def start(
    command: Sequence[str], environment: Mapping[str, str], places: Sequence[int | str]
) -> subprocess.Popen[bytes]:
    """`command` is what follows the interpreter's name. Memory is opened by its name, so `places` are only checked."""
    if "" in places:
        raise ValueError("a shared block is closed")
    program, extra = _interpreter()
    environment = {**environment, **extra}
    own_group: dict[str, int] = {"process_group": 0}
    if os.name == "nt":
        own_group = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}  # type: ignore[attr-defined]
    return subprocess.Popen(
        [program, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env=environment,
        **own_group,  # type: ignore[call-overload]
    )


def _interpreter() -> tuple[str, dict[str, str]]:
    """The program and what it needs in its environment. On Windows a virtual environment's python.exe is a launcher,
    whose number is not that of the process which it starts; so the real one is started, as multiprocessing does
    (popen_spawn_win32.py).
    """
    real = getattr(sys, "_base_executable", sys.executable)
    if os.name == "nt" and real != sys.executable:
        return real, {"__PYVENV_LAUNCHER__": sys.executable}
    return sys.executable, {}


def end_group(pid: int) -> None:
    """Windows has none."""


def keep_interrupts_away() -> None:
    """They stay away: children are in groups of their own."""


def ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def interrupt(thread: int, number: int) -> None:
    """Python's handlers run in the main thread, whichever thread the signal comes to."""
    signal.raise_signal(number)


def die_with(parent: int, status: int) -> None:
    """End this process, with `status`, once its parent has ended."""
    watched = Parent(parent)
    if not watched.lives():
        os._exit(status)

    def watch() -> None:
        while watched.lives():
            time.sleep(WATCH_SECONDS)
        os._exit(status)

    threading.Thread(target=watch, name="dshq-parent", daemon=True).start()


class Parent:
    """The process that started this one. Its number is not asked for again: on Windows it stays when it has ended."""

    def __init__(self, pid: int) -> None:
        try:
            self._process: psutil.Process | None = psutil.Process(pid)
        except psutil.NoSuchProcess:
            self._process = None

    def lives(self) -> bool:
        try:
            return (
                self._process is not None
                and self._process.is_running()  # not another one that has got its number
                and self._process.status() != psutil.STATUS_ZOMBIE
            )
        except psutil.Error:
            return False


class Pulse:
    """What a process does, by the processor time that it gets: Windows does not say what a thread waits for."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._seen = deque([(time.monotonic(), used(pid))])  # times, and processor seconds

    def beats(self, beside: float = 0.0) -> bool:
        """Whether it has got more than `beside` seconds within the last PULSE_SECONDS, or since the last question."""
        now, seconds = time.monotonic(), used(self._pid)
        self._seen.append((now, seconds))
        while self._seen[1][0] < now - PULSE_SECONDS:
            self._seen.popleft()
        return seconds - self._seen[0][1] > beside
