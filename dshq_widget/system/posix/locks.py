"""Locks of the kernel on files (flock(2)). What lies at the path and is no file of ours is never followed or waited
for: the temporary folder is everybody's.
"""

import errno
import fcntl
import os
import shutil
import stat
from pathlib import Path

from dshq_widget.system.no_locks import NoLocksError
from dshq_widget.system.paths import NO_LINK, NO_WAIT


class Lock:
    """A lock that is held, until `close`."""

    def __init__(self, path: Path, fd: int) -> None:
        self._path, self._fd = path, fd

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def forget(self) -> None:
        if self._fd >= 0:  # while it is held, so that its successor's file stays
            self._path.unlink(missing_ok=True)
        self.close()

    def remove(self, folder: Path) -> None:
        if self._fd >= 0:
            shutil.rmtree(folder, ignore_errors=True)
        self.close()


def hold(path: Path) -> Lock | None:
    while True:
        fd = os.open(path, os.O_CREAT | os.O_RDWR | NO_LINK | NO_WAIT, 0o600)
        lock = Lock(path, fd)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "not a file", str(path))
            if not _locked(fd, path):
                lock.close()
                return None
            if os.path.samestat(os.fstat(fd), os.stat(path)):
                return lock
        except FileNotFoundError:  # its owner has just taken it away: there is another one, or none
            lock.close()
            continue
        except BaseException:
            lock.close()
            raise
        lock.close()


def _locked(fd: int, path: Path) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise NoLocksError(error.errno, error.strerror, str(path)) from error
    return True
