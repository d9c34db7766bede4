"""Claims on files: two runs that write one file would each lose what the other has written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from dshq_widget.system import locks


class ClaimError(ValueError):
    """Another process writes the file. The message says what to do."""


@contextlib.contextmanager
def claimed(*paths: Path) -> Iterator[None]:
    """Nobody else claims these files inside the block. The claim is the lock of a hidden file beside each, which
    ends with the process, however that ends. Raises ClaimError if another process has one of them, OSError if a
    folder cannot be written.
    """
    with contextlib.ExitStack() as stack:
        for path in dict.fromkeys(map(Path.absolute, paths)):
            if (claim := _claim(path)) is not None:
                stack.callback(claim.forget)
        yield


def _claim(path: Path) -> locks.Lock | None:
    """The lock; None on a file system without locks, where there is no way to know."""
    try:
        lock = locks.hold(path.with_name(f".{path.name}.lock"))
    except locks.NoLocksError:
        return None
    if lock is None:
        raise ClaimError(f"another run writes {str(path)!r}: wait for its end, or give another file")
    return lock
