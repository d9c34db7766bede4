"""Bytes on their way into a pipe: a thread writes them, so that who sends them never waits for who reads them."""

import io
import threading
import time
from collections import deque
from collections.abc import Callable

PIECE_BYTES = 1 << 16


class Outbox:
    """Takes what is `put` and writes it into `pipe`, which it closes after `close`. `broken` is called, on its thread,
    once nobody reads the pipe any more; what is put from then on is dropped.
    """

    def __init__(self, pipe: io.FileIO, broken: Callable[[], object] | None = None) -> None:
        self.waiting = 0
        """Bytes that were put and have not been written."""
        self._pipe, self._broken = pipe, broken
        self._pieces: deque[memoryview] = deque()
        self._changed = threading.Condition()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="dshq-outbox", daemon=True)
        self._thread.start()

    def put(self, data: bytes) -> None:
        """Queue it."""
        with self._changed:
            if not self._over:
                self._pieces.append(memoryview(data))
                self.waiting += len(data)
                self._changed.notify_all()

    def flush(self, seconds: float) -> None:
        """Wait until everything has been written, that long at most."""
        over = time.monotonic() + seconds
        with self._changed:
            while self.waiting and (left := over - time.monotonic()) > 0:
                self._changed.wait(left)

    def close(self, seconds: float = 0.0) -> None:
        """Write no more than what is being written, and wait that long for its end."""
        with self._changed:
            self._over = True
            self._pieces.clear()
            self._changed.notify_all()
        self._thread.join(seconds)

    def _run(self) -> None:
        try:
            while (piece := self._next()) is not None:
                self._write(piece)
        except OSError:  # the other end is closed; Windows says so in more than one way
            with self._changed:
                self._over, self.waiting = True, 0
                self._pieces.clear()
                self._changed.notify_all()
            if self._broken:
                self._broken()
        finally:
            self._pipe.close()

    def _next(self) -> memoryview | None:
        with self._changed:
            while not self._pieces and not self._over:
                self._changed.wait()
            return self._pieces.popleft() if self._pieces else None

    def _write(self, piece: memoryview) -> None:
        while piece:
            written = self._pipe.write(piece[:PIECE_BYTES]) or 0
            piece = piece[written:]
            with self._changed:
                self.waiting -= written
                if not self.waiting:
                    self._changed.notify_all()
