"""A temporary folder that is removed when its owner closes it or ends; folders of killed owners are removed by the next
one.
"""

import fcntl
import os
import shutil
import tempfile
import weakref
from pathlib import Path

PREFIX, NEW, OWNER = "dshq-run-", "dshq-new-", "owner"
"""A folder gets its final name once its file `owner` is locked, so an unlocked file means a dead owner."""


class Scratch:
    """`path` is the folder. The lock on its owner's file ends with the process, however it ends (flock(2))."""

    def __init__(self, root: Path | None = None) -> None:
        root = Path(tempfile.gettempdir()) if root is None else root
        sweep(root)
        made = Path(tempfile.mkdtemp(prefix=NEW, dir=root))
        owner = os.open(made / OWNER, os.O_CREAT | os.O_WRONLY, 0o600)
        fcntl.flock(owner, fcntl.LOCK_EX)
        self.path = made.rename(made.with_name(PREFIX + made.name.removeprefix(NEW)))
        self._end = weakref.finalize(self, _remove, self.path, owner)

    def close(self) -> None:
        """Remove the folder and its content; twice is fine."""
        self._end()


def sweep(root: Path) -> None:
    """Remove our folders in `root` whose owners are dead."""
    for folder in root.glob(PREFIX + "*"):
        try:
            owner = os.open(folder / OWNER, os.O_WRONLY)
        except OSError:  # somebody else's, or another process is removing it
            continue
        try:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # its owner lives
            os.close(owner)
            continue
        _remove(folder, owner)


def _remove(folder: Path, owner: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(owner)
