"""Claims on files: two runs that write one file would each lose what the other has written."""

from __future__ import annotations

import contextlib
import errno
import os
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dshq_widget.system import locks
from dshq_widget.system.finalize import finalize

NOT_OURS = (errno.EACCES, errno.EPERM, errno.ELOOP, errno.EISDIR, errno.EINVAL, errno.ENXIO)
"""What opening another user's lock gives, or something that is no file."""


_NOBODYS = contextlib.nullcontext()


class ClaimError(ValueError):
    """Another run writes the file. The message says what to do."""


class Claim:
    """Nobody else claims the file until `close`, or until nobody refers to this. The claim is the lock of a hidden file
    beside it, which ends with the process, however that ends. One of this process that is `idle` is taken over: a cell
    of a notebook that is run again makes another trainer while the last one is still there. That is asked and done
    under `lock`, under which its owner begins: else it could begin in between. Its `leave` is called before.

    Raises ClaimError if it is another's, or the lock is another user's or no file; OSError if the folder cannot be
    written.
    """

    def __init__(
        self,
        path: Path,
        idle: Callable[[], bool] = lambda: False,
        lock: contextlib.AbstractContextManager[Any] = _NOBODYS,
        leave: Callable[[], None] = lambda: None,
    ) -> None:
        path = path.absolute()
        self._idle, self._lock, self._leave, self.held = idle, lock, leave, True
        before = _of_this_process.get(path)
        if before is not None and not before._gives_way():
            raise _another(path)
        file = _locked(path)
        self._end = finalize(self, file.forget) if file is not None else None
        _of_this_process[path] = self

    def _gives_way(self) -> bool:
        """Whether another one of this process may have the file: this one is closed, or is now because it is idle."""
        with self._lock:
            if self.held and self._idle():
                self._leave()
                self.close()
            return not self.held

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
    hidden = path.with_name(f".{path.name}.lock")
    try:
        lock = locks.hold(hidden)
    except locks.NoLocksError:
        return None
    except OSError as error:
        if error.errno not in NOT_OURS or not os.path.lexists(hidden):
            raise
        raise ClaimError(
            f"{str(hidden)!r} is another user's, or no lock ({error.strerror}), so another run may be writing "
            f"{path.name!r}: remove it if none does, or choose another place"
        ) from error
    if lock is None:
        raise _another(path)
    return lock


def _another(path: Path) -> ClaimError:
    return ClaimError(f"another run writes {str(path)!r}: wait for its end, stop it, or choose another place")
