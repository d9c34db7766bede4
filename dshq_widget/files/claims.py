"""Claims on files: two runs that write one file would each lose what the other has written."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


class ClaimError(ValueError):
    """Another process writes the file. The message says what to do."""


@contextlib.contextmanager
def claimed(*paths: Path) -> Iterator[None]:
    """Nobody else claims these files inside the block. The claim is the lock (flock(2)) of a hidden file beside each,
    which ends with the process, however that ends. Raises ClaimError if another process has one of them, OSError if a
    folder cannot be written.
    """
    with contextlib.ExitStack() as stack:
        for path in dict.fromkeys(map(Path.absolute, paths)):
            stack.callback(_release, *_claim(path))
        yield


def _claim(path: Path) -> tuple[Path, int]:
    lock = path.with_name(f".{path.name}.lock")
    while True:
        held = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
            raise ClaimError(f"another run writes {str(path)!r}: wait for its end, or give another file") from None
        except OSError:  # a file system without locks: there is no way to know
            return lock, held
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(held), os.stat(lock)):
                return lock, held
        os.close(held)  # its owner has just removed it: there is another one, or none


def _release(lock: Path, held: int) -> None:
    lock.unlink(missing_ok=True)
    os.close(held)
