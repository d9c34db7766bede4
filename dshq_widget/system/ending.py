"""Waiting until this process is asked to end, by Ctrl-C (SIGINT), SIGTERM or a closed terminal, on any system. Windows
has no signals for an asyncio loop, and runs no handler while its main thread waits without an end.
"""

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
CLOSED: tuple[int, ...] = (signal.SIGHUP,) if hasattr(signal, "SIGHUP") else ()
"""The terminal was closed, on systems that say so by a signal."""
LOOK_SECONDS = 0.2


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Ctrl-C waits for the end of the block: it comes anywhere in the main thread, also between what has begun and what
    says so. On other threads it never comes.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            signal.raise_signal(signal.SIGINT)


def heard() -> list[int]:
    """The signals that ask this program to end: `SIGNALS`, and the end of its terminal unless it is to outlive that."""
    return [*SIGNALS, *(number for number in CLOSED if signal.getsignal(number) != signal.SIG_IGN)]


class EndSignal:
    """`with EndSignal() as ended`, in the main thread: inside, these signals only end a wait. Afterwards they do
    what they did before.
    """

    def __enter__(self) -> "EndSignal":
        self._asked = False  # no Event: a second signal would wait for its lock, which this thread holds
        self._before = {number: signal.signal(number, self._ended) for number in heard()}
        return self

    def _ended(self, number: int, frame: FrameType | None) -> None:
        self._asked = True

    def wait(self) -> None:
        """Return once the process was asked to end."""
        while not self._asked:
            time.sleep(LOOK_SECONDS)

    async def wait_async(self) -> None:
        """The same for a coroutine of the main thread."""
        while not self._asked:
            await asyncio.sleep(LOOK_SECONDS)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
