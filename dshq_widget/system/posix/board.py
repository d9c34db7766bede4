"""The board on a selector: descriptors that never block, and a pipe as its bell."""

import contextlib
import io
import logging
import os
import selectors
import threading
from collections.abc import Callable

Ready = Callable[[], object]
PIECE_BYTES, PIECES = 1 << 16, 16
"""Read at once, and how often per turn, so that one pipe cannot starve the others."""

LOST: list[selectors.BaseSelector] = []
"""Selectors whose descriptor somebody else closed, kept for good: one that is collected closes that number again, and
by then it is another file's.
"""

log = logging.getLogger(__name__)


class Board:
    """See `dshq_widget.system.board`."""

    def __init__(self) -> None:
        self._selector: selectors.BaseSelector = selectors.DefaultSelector()
        self._gate = threading.Lock()
        self._hang_bell()

    def source(self, pipe: io.FileIO, ready: Ready) -> "Source":
        return Source(self, pipe, ready)

    def sink(self, pipe: io.FileIO) -> "Sink":
        return Sink(self, pipe)

    def wake(self) -> None:
        with self._gate, contextlib.suppress(OSError):  # a wake-up is pending already, or the bell is gone
            os.write(self._bell_push, b"!")

    def wait(self, timeout: float | None) -> list[Ready]:
        try:
            events = self._selector.select(timeout)
        except OSError as error:
            log.error("somebody closed a descriptor of the supervisor's (%s); it continues with the others", error)
            self._watch_anew()
            return []
        if any(key.data is None for key, _ in events):
            os.read(self._bell, 4096)
        return [key.data for key, _ in events if key.data is not None]

    def close(self) -> None:
        self._selector.close()
        with self._gate:
            os.close(self._bell)
            os.close(self._bell_push)

    def watch(self, fd: int, event: int, ready: Ready) -> None:
        if fd not in self._selector.get_map():
            self._selector.register(fd, event, ready)

    def unwatch(self, fd: int) -> None:
        if fd in self._selector.get_map():
            self._selector.unregister(fd)

    def _hang_bell(self) -> None:
        self._bell, self._bell_push = os.pipe()
        os.set_blocking(self._bell, False)
        os.set_blocking(self._bell_push, False)
        self._selector.register(self._bell, selectors.EVENT_READ)

    def _watch_anew(self) -> None:
        """A new selector for the descriptors that are still open."""
        watched = [key for key in self._selector.get_map().values() if key.fd != self._bell]
        LOST.append(self._selector)
        self._selector = selectors.DefaultSelector()
        for key in watched:
            with contextlib.suppress(OSError):  # that one is closed; its process's end is noticed all the same
                self._selector.register(key.fd, key.events, key.data)
        with self._gate:
            self._hang_bell()


class Source:
    """The end of a pipe that is read."""

    def __init__(self, board: Board, pipe: io.FileIO, ready: Ready) -> None:
        self._board, self._pipe = board, pipe
        os.set_blocking(pipe.fileno(), False)
        board.watch(pipe.fileno(), selectors.EVENT_READ, ready)

    def take(self) -> bytes:
        """What has arrived, a megabyte at most."""
        taken = bytearray()
        with contextlib.suppress(BlockingIOError):  # all read for now
            for _ in range(PIECES):
                received = os.read(self._pipe.fileno(), PIECE_BYTES)
                if not received:
                    self._board.unwatch(self._pipe.fileno())
                    break
                taken += received
        return bytes(taken)

    def last(self) -> bytes:
        """What was left in the pipe by a process that has ended; closes it."""
        left = self.take()
        self._board.unwatch(self._pipe.fileno())
        self._pipe.close()
        return left


class Sink:
    """The end of a pipe that is written. What is put after its reader has ended is dropped."""

    def __init__(self, board: Board, pipe: io.FileIO) -> None:
        self._board, self._pipe = board, pipe
        self._left = bytearray()
        os.set_blocking(pipe.fileno(), False)

    @property
    def waiting(self) -> int:
        """Bytes that were put and have not been written."""
        return len(self._left)

    def put(self, data: bytes) -> None:
        self._left += data
        self._write()

    def close(self) -> None:
        self._board.unwatch(self._pipe.fileno())
        self._pipe.close()

    def _write(self) -> None:
        fd = self._pipe.fileno()
        try:
            while self._left:
                del self._left[: os.write(fd, self._left)]
        except BlockingIOError:
            self._board.watch(fd, selectors.EVENT_WRITE, self._write)
            return
        except BrokenPipeError:
            self._left.clear()
        self._board.unwatch(fd)
