"""`hold(path)`: the lock of that name, which ends with the process that holds it, however that ends; None while
another one holds it. It makes the file, which is of no other use: Windows lets nobody read one that is locked, and it
may go when the lock is released. Raises OSError where it cannot be made, and `NoLocksError` where the file system has
no locks.

`Lock.close` releases it, `Lock.forget` takes its file away, too, and `Lock.remove(folder)` the folder that it lies in.
Each may be called twice.
"""

from typing import TYPE_CHECKING

from dshq_widget.system.form import PORTABLE
from dshq_widget.system.no_locks import NoLocksError

if TYPE_CHECKING or not PORTABLE:
    from dshq_widget.system.posix.locks import Lock, hold
else:
    from dshq_widget.system.portable.locks import Lock, hold

__all__ = ["Lock", "NoLocksError", "hold"]
