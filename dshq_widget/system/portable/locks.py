"""Locks by filelock: of the system where it has such, else a file that says which process holds it."""

import contextlib
import errno
import os
import shutil
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from dshq_widget.system.no_locks import NoLocksError


class Lock:
    """A lock that is held, until `close`."""

    def __init__(self, lock: BaseFileLock) -> None:
        self._lock = lock

    def close(self) -> None:
        self._lock.release()

    def forget(self) -> None:
        held = self._lock.is_locked
        self.close()  # Windows takes no file away that is open
        if held:
            with contextlib.suppress(OSError):  # its successor has it
                Path(self._lock.lock_file).unlink(missing_ok=True)

    def remove(self, folder: Path) -> None:
        held = self._lock.is_locked
        self.close()
        if held:
            shutil.rmtree(folder, ignore_errors=True)


def hold(path: Path) -> Lock | None:
    if not path.parent.is_dir():  # filelock would make it
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    lock = FileLock(path, mode=0o600, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return None
    except OSError as error:
        if error.errno in (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP):
            raise NoLocksError(error.errno, error.strerror, str(path)) from error
        raise
    return Lock(lock)
