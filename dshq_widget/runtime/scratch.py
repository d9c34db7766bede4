"""A temporary folder that is removed when its owner closes it or ends; folders of killed owners are removed by the next
one. The temporary folder is everybody's: what another user has put there is left alone and never waited for.
"""

import shutil
import stat
import tempfile
from pathlib import Path

from dshq_kernels.simd.own_folder import is_own
from dshq_widget.system import locks
from dshq_widget.system.finalize import finalize

PREFIX, OWNER = "dshq-run-", "owner.lock"
"""A folder whose owner's file is not locked has no living owner."""


class Scratch:
    """`path` is the folder. The lock on its owner's file ends with the process, however it ends."""

    def __init__(self, root: Path | None = None) -> None:
        root = Path(tempfile.gettempdir()) if root is None else root
        sweep(root)
        self.path, lock = owned_folder(root, PREFIX, OWNER)
        self._end = finalize(self, remove, self.path, lock)

    def close(self) -> None:
        """Remove the folder and its content; twice is fine."""
        self._end()


def owned_folder(root: Path, prefix: str, name: str) -> tuple[Path, locks.Lock | None]:
    """A new folder in `root` and the lock on its file `name`, None on a file system without locks. Raises OSError if it
    cannot be made.
    """
    while True:
        made = Path(tempfile.mkdtemp(prefix=prefix, dir=root))
        try:
            lock = locks.hold(made / name)
        except locks.NoLocksError:
            return made, None
        except FileNotFoundError:  # somebody took it for one that a dead process had left, before it was locked
            continue
        if lock is not None:
            return made, lock


def sweep(root: Path) -> None:
    """Remove this user's folders in `root` whose owners are dead."""
    for folder in filter(is_own, root.glob(PREFIX + "*")):
        try:
            if not stat.S_ISREG((folder / OWNER).lstat().st_mode):
                continue
            lock = locks.hold(folder / OWNER)
        except OSError:  # another process is removing it, or it is none of ours
            continue
        if lock is not None:
            lock.remove(folder)


def remove(path: Path, lock: locks.Lock | None) -> None:
    """Remove an owned folder and release its lock."""
    if lock is not None:
        lock.remove(path)
    else:
        shutil.rmtree(path, ignore_errors=True)
