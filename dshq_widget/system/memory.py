"""`create(nbytes, directory)`: zero-filled memory that other processes can map, allocated in full, or an OSError that
says why not. `attach(where, nbytes)` maps one that another process has made.

`Piece.where` says where it is, in a form that JSON can hold: a child gets it so. `Piece.map` is the mapping, which
stays as long as somebody refers to it; `Piece.close` lets go of everything else. `ANONYMOUS` says what it is to a
person.
"""

from typing import TYPE_CHECKING

from dshq_widget.system.form import PORTABLE

if TYPE_CHECKING or not PORTABLE:
    from dshq_widget.system.posix.memory import ANONYMOUS, Piece, attach, create
else:
    from dshq_widget.system.portable.memory import ANONYMOUS, Piece, attach, create

__all__ = ["ANONYMOUS", "Piece", "attach", "create"]
