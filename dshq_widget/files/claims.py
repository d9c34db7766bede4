"""Claims on files: two runs that write one file would each lose what the other has written."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from dshq_widget.system import locks
from dshq_widget.system.finalize import finalize


class ClaimError(ValueError):
    """Another run writes the file. The message says what to do."""


class Claim:
    """Nobody else claims the file until `close`, or until nobody refers to this. The claim is the lock of a hidden file
    beside it, which ends with the process, however that ends. One of this process that is `idle` is taken over: a cell
    of a notebook that is run again makes another trainer while the last one is still there.

    Raises ClaimError if it is another's, OSError if the folder cannot be written.
    """

    def __init__(self, path: Path, idle: Callable[[], bool] = lambda: False) -> None:
        path = path.absolute()
        self._idle, self.held = idle, True
        before = _of_this_process.get(path)
        if before is not None and before.held:
            if not before._idle():
                raise _another(path)
            before.close()
        lock = _locked(path)
        self._end = finalize(self, lock.forget) if lock is not None else None
        _of_this_process[path] = self

    def close(self) -> None:
        """The file may be claimed by others. Twice is fine."""
        self.held = False
        if self._end is not None:
            self._end()


_of_this_process: weakref.WeakValueDictionary[Path, Claim] = weakref.WeakValueDictionary()


@contextlib.contextmanager
def claimed(*paths: Path) -> Iterator[None]:
    """Nobody else claims these files inside the block. Raises like `Claim`."""
    with contextlib.ExitStack() as stack:
        for path in dict.fromkeys(map(Path.absolute, paths)):
            stack.callback(Claim(path).close)
        yield


def _locked(path: Path) -> locks.Lock | None:
    """The lock; None on a file system without locks, where there is no way to know of other processes."""
    try:
        lock = locks.hold(path.with_name(f".{path.name}.lock"))
    except locks.NoLocksError:
        return None
    if lock is None:
        raise _another(path)
    return lock


def _another(path: Path) -> ClaimError:
    return ClaimError(f"another run writes {str(path)!r}: wait for its end, stop it, or choose another place")
