"""Waiting until this process is told to end, by Ctrl-C (SIGINT) or SIGTERM, on any system. Windows has no signals for
an asyncio loop, and runs no handler while its main thread waits without an end.
"""

import asyncio
import signal
import threading
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
HANGUP = getattr(signal, "SIGHUP", None)
"""The terminal was closed, on systems that say so by a signal."""
LOOK_SECONDS = 0.2


class Told:
    """`with Told() as told`, in the main thread: inside, these signals do nothing but end a wait. Afterwards they do
    what they did before.
    """

    def __enter__(self) -> "Told":
        self._event = threading.Event()
        self._before = {number: signal.signal(number, self._hear) for number in SIGNALS}
        return self

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._event.set()

    def wait(self) -> None:
        """Return once the process has been told."""
        while not self._event.wait(LOOK_SECONDS):
            pass

    async def heard(self) -> None:
        """The same for a coroutine of the main thread."""
        while not self._event.is_set():
            await asyncio.sleep(LOOK_SECONDS)

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
