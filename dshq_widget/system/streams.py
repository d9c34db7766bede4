"""Standard streams that nobody reads any more: a pipe whose reader has ended, a terminal that was closed, a full disk.
Work continues without them.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

UNREAD = (errno.EPIPE, errno.EIO, errno.EINVAL)
"""Nobody reads the stream any more: POSIX says so of a pipe and of a terminal, Windows of a pipe."""


def say(text: str, stream: TextIO | None, end: str = "\n") -> bool:
    """Print at once; whether that was possible."""
    try:
        print(text, end=end, file=stream, flush=True)
    except OSError:
        return False
    except ValueError:  # also text that the stream cannot encode
        if stream is None or not stream.closed:
            raise
        return False
    return True


class Heard:
    """A text stream like the one in it. From the first write that fails on, it writes to nowhere."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._failure = ""

    @property
    def lost(self) -> str:
        """Why something written was lost, though somebody waits for it; "" if all went well so far."""
        self.flush()
        return self._failure

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with self._lost():
            try:
                self._stream.write(text)
            except UnicodeEncodeError:  # a pipe on Windows has a code page that lacks what a name or a sentence has
                code = self._stream.encoding
                self._stream.write(text.encode(code, "backslashreplace").decode(code))
        return len(text)

    def flush(self) -> None:
        with self._lost():
            self._stream.flush()

    @contextlib.contextmanager
    def _lost(self) -> Iterator[None]:
        try:
            yield
        except BlockingIOError:  # its reader is slow: this text is lost
            return
        except OSError as error:
            if error.errno not in UNREAD:
                self._failure = self._failure or error.strerror or str(error)
            self._to_nowhere()
        except ValueError:
            if not self._stream.closed:
                raise

    def _to_nowhere(self) -> None:
        """What waits in its buffer, too, when the process ends."""
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            try:
                os.dup2(nowhere, self._stream.fileno())
            finally:
                os.close(nowhere)


@contextlib.contextmanager
def heard() -> Iterator[Heard | None]:
    """While the block runs, no write to stdout or stderr fails. Gives the stdout, if there is one."""
    before = sys.stdout, sys.stderr
    made = [None if stream is None else Heard(stream) for stream in before]
    sys.stdout, sys.stderr = made
    try:
        yield made[0]
    finally:
        for stream in filter(None, made):
            stream.flush()
        sys.stdout, sys.stderr = before
