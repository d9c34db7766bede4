"""Ctrl-C, SIGTERM and the end of the terminal (unless it is to outlive that: `nohup`) end a command at any moment,
within two seconds, with exit status 130, 143 or 129.

The handler raises `Interrupted` in the main thread. Python calls it only between two of its own instructions, so a
thread that the system wakes itself (signal.set_wakeup_fd) watches: it sends the signal again if the exception was lost,
and ends the process if the main thread does not get to it, because a compiler or an import is at work. Processes of a
run end with this one (runtime/process.py).
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

from dshq_widget.system import processes
from dshq_widget.system.ending import heard

FORCE_SECONDS, AGAIN_SECONDS = 1.6, 0.5
"""When the process is ended by force, and how often the signal is sent again until then."""
HELD_SECONDS = 30.0
"""When a command is ended by force that has begun to end by itself, and waits for something that does not come."""
ONCE_SECONDS = 1.0
"""A signal that comes again so soon is the same: a terminal and `uv run` both send one."""


class Interrupted(KeyboardInterrupt):
    """The command was asked to end; `number` is the signal's."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__()
        self.number = number

    @property
    def status(self) -> int:
        """The exit status, by convention."""
        return 128 + self.number

    def __str__(self) -> str:
        return "stopped by Ctrl-C" if self.number == signal.SIGINT else f"stopped by {signal.Signals(self.number).name}"


class Watch:
    """The handlers of one command and the thread beside them. `kept` is added to the message of a forced end."""

    def __init__(self) -> None:
        self.held = True  # while it is made: a signal that comes now is sent again (`_force`)
        self.told: int | None = None  # the signal that was raised last
        self.held_at = 0.0  # of time.monotonic()
        self.again = False
        self.closed = threading.Event()
        self.kept = ""
        self._main = threading.main_thread().ident or 0
        self._read, self._write = socket.socketpair()  # Windows waits for no pipe, and asks for sockets here
        self._write.setblocking(False)
        self._fd_before = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._handle) for number in heard()}
        self._unraisable, sys.unraisablehook = sys.unraisablehook, self._unraised
        self._thread = threading.Thread(target=self._watch, name="dshq-interrupts", daemon=True)
        self._thread.start()
        self.held = False

    def close(self) -> None:
        """Restore the handlers that were there before."""
        self.held = True
        self.closed.set()
        signal.set_wakeup_fd(self._fd_before)
        sys.unraisablehook = self._unraisable
        for number, handler in self._before.items():
            signal.signal(number, handler)
        with contextlib.suppress(OSError):
            self._write.send(b"\0")
        self._thread.join()
        self._read.close()
        self._write.close()

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if not self.held:
            self.told = number
            raise Interrupted(number)
        self.again = self.again or time.monotonic() - self.held_at >= ONCE_SECONDS

    def _unraised(self, lost: sys.UnraisableHookArgs) -> None:
        """A stop that came while C called Python, as LLVM does, is lost there, and sent again (`_force`)."""
        if not isinstance(lost.exc_value, Interrupted):
            self._unraisable(lost)

    def _watch(self) -> None:
        while True:
            for number in self._read.recv(64):
                if number == 0:
                    return
                if number in self._before and signal.getsignal(number) == self._handle:
                    self._force(number)

    def _force(self, number: int) -> None:
        begin = sent = time.monotonic()
        while not self.closed.wait(0.02):
            now = time.monotonic()
            if now - begin >= (HELD_SECONDS if self.held else FORCE_SECONDS):
                print(f"\ndshq: {Interrupted(number)}{self.kept}", file=sys.stderr, flush=True)
                os._exit(128 + number)
            if now - sent >= AGAIN_SECONDS and not self.held:
                sent = now
                processes.interrupt(self._main, number)


_watch: Watch | None = None


def _leave_to_parent() -> None:
    """A fork, as an environment may make one, would tell this thread of its own signals: they are its default's."""
    if _watch is not None:
        signal.set_wakeup_fd(-1)
        for number, handler in _watch._before.items():
            signal.signal(number, handler)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """While the block runs, these signals raise `Interrupted`. Does nothing outside the main thread."""
    global _watch
    if threading.current_thread() is not threading.main_thread() or _watch is not None:
        yield
        return
    _watch = Watch()
    try:
        yield
    finally:
        watch, _watch = _watch, None
        watch.close()


def behind(error: BaseException) -> Interrupted | None:
    """The stop that is behind an error, if one is: the error itself, or one that it broke on its way, such as numba's
    import, which cannot be begun twice.
    """
    if isinstance(error, Interrupted):
        return error
    if isinstance(error, KeyboardInterrupt):
        return Interrupted()
    return Interrupted(_watch.told) if _watch is not None and _watch.told is not None else None


def hold() -> None:
    """From now on the command ends by itself, soon: further signals are heard by `again` alone, and nothing is forced
    for `HELD_SECONDS`.
    """
    if _watch is not None:
        _watch.held, _watch.held_at, _watch.again = True, time.monotonic(), False


def again() -> bool:
    """Whether a signal has come again since `hold`."""
    return _watch is not None and _watch.again


def keep(text: str) -> None:
    """What a forced end should say was kept, as the end of a sentence."""
    if _watch is not None:
        _watch.kept = text
