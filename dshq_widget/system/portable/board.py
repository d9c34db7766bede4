"""The board on threads: one that reads or writes for each pipe, and a queue at which the board's thread waits. (Windows
waits for sockets only, not for pipes.)
"""

import io
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue

from dshq_widget.system.outbox import Outbox

Ready = Callable[[], object]
PIECE_BYTES, PIECES = 1 << 16, 16
"""Read at once, and how many of them wait at most: from then on it is the process at the other end that waits."""
END_SECONDS = 0.5
"""For the rest of what an ended process has sent. A process that it has started itself may hold the pipe open."""


class Board:
    """See `dshq_widget.system.board`."""

    def __init__(self) -> None:
        self._turns: SimpleQueue[Ready | None] = SimpleQueue()

    def source(self, pipe: io.FileIO, ready: Ready) -> "Source":
        return Source(pipe, lambda: self._turns.put(ready))

    def sink(self, pipe: io.FileIO) -> "Sink":
        return Sink(pipe)

    def wake(self) -> None:
        self._turns.put(None)

    def wait(self, timeout: float | None) -> list[Ready]:
        turns: list[Ready] = []
        try:
            turn = self._turns.get(timeout=timeout)
            while True:
                if turn is not None and turn not in turns:
                    turns.append(turn)
                turn = self._turns.get_nowait()
        except Empty:
            return turns

    def close(self) -> None:
        """Nothing is held."""


class Source:
    """The end of a pipe that is read, by a thread of its own, which closes it at its end."""

    def __init__(self, pipe: io.FileIO, arrived: Callable[[], object]) -> None:
        self._pipe, self._arrived = pipe, arrived
        self._pieces: deque[bytes] = deque()
        self._room = threading.Semaphore(PIECES)
        self._dropping = False
        self._thread = threading.Thread(target=self._run, name="dshq-source", daemon=True)
        self._thread.start()

    def take(self) -> bytes:
        """What has arrived, a megabyte at most."""
        taken = [self._pieces.popleft() for _ in range(len(self._pieces))]
        self._room.release(len(taken)) if taken else None
        return b"".join(taken)

    def last(self) -> bytes:
        """What was left in the pipe by a process that has ended."""
        taken, over = bytearray(), time.monotonic() + END_SECONDS
        while self._thread.is_alive() and (left := over - time.monotonic()) > 0:
            taken += self.take()
            self._thread.join(min(left, 0.01))
        self._dropping = True
        return bytes(taken + self.take())

    def _run(self) -> None:
        try:
            while piece := self._pipe.read(PIECE_BYTES):
                if self._dropping:
                    continue
                self._room.acquire()
                self._pieces.append(piece)
                self._arrived()
        except OSError:  # Windows calls a pipe broken whose other end is closed
            return
        finally:
            self._pipe.close()


class Sink:
    """The end of a pipe that is written. What is put after its reader has ended is dropped."""

    def __init__(self, pipe: io.FileIO) -> None:
        self._outbox = Outbox(pipe)

    @property
    def waiting(self) -> int:
        """Bytes that were put and have not been written."""
        return self._outbox.waiting

    def put(self, data: bytes) -> None:
        self._outbox.put(data)

    def close(self) -> None:
        self._outbox.close(END_SECONDS)
