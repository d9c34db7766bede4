"""A temporary folder that is removed when its owner closes it or ends; folders of killed owners are removed by the next
one. The temporary folder is everybody's: what another user has put there is left alone and never waited for.
"""

import errno
import fcntl
import os
import shutil
import stat
import tempfile
import weakref
from pathlib import Path

from dshq_kernels.simd.own_folder import is_own

PREFIX, NEW, OWNER = "dshq-run-", "dshq-new-", "owner"
"""A folder gets its final name once its file `owner` is locked, so an unlocked file means a dead owner."""
SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""No link is followed, and no pipe waited for."""


class Scratch:
    """`path` is the folder. The lock on its owner's file ends with the process, however it ends (flock(2))."""

    def __init__(self, root: Path | None = None) -> None:
        root = Path(tempfile.gettempdir()) if root is None else root
        sweep(root)
        made = Path(tempfile.mkdtemp(prefix=NEW, dir=root))
        owner = os.open(made / OWNER, os.O_CREAT | os.O_EXCL | os.O_WRONLY | SAFELY, 0o600)
        fcntl.flock(owner, fcntl.LOCK_EX)
        self.path = made.rename(made.with_name(PREFIX + made.name.removeprefix(NEW)))
        self._end = weakref.finalize(self, _remove, self.path, owner)

    def close(self) -> None:
        """Remove the folder and its content; twice is fine."""
        self._end()


def sweep(root: Path) -> None:
    """Remove this user's folders in `root` whose owners are dead."""
    for folder in filter(is_own, root.glob(PREFIX + "*")):
        try:
            owner = os.open(folder / OWNER, os.O_WRONLY | SAFELY)
        except OSError:  # another process is removing it
            continue
        try:
            if not stat.S_ISREG(os.fstat(owner).st_mode):
                raise OSError(errno.EINVAL, "not a file")
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # its owner lives, or it is none of ours
            os.close(owner)
            continue
        _remove(folder, owner)


def _remove(folder: Path, owner: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(owner)
