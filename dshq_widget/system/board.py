"""`Board()`: where one thread waits for many pipes, none of which can hold it up.

`source(pipe, ready)` reads a pipe: `wait` returns `ready` when something has arrived, and `Source.take` has it.
`sink(pipe)` writes into one. `wait(timeout)` returns the `ready` functions whose turn it is; `wake` ends a wait, from
any thread. A pipe belongs to its source or sink, which closes it.
"""

from typing import TYPE_CHECKING

from dshq_widget.system.form import PORTABLE

if TYPE_CHECKING or not PORTABLE:
    from dshq_widget.system.posix.board import Board
else:
    from dshq_widget.system.portable.board import Board

__all__ = ["Board"]
