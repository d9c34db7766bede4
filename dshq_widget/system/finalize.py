"""What an object leaves behind is removed by the process that made it, and by no forked copy of it: a copy often ends
before its parent, and runs the parent's finalizers with it. In the copy a descriptor may be another file's by then.
"""

import os
import weakref
from collections.abc import Callable
from typing import Any, ParamSpec

P = ParamSpec("P")


def finalize(owner: Any, leave: Callable[P, object], *given: P.args, **named: P.kwargs) -> "weakref.finalize[..., Any]":
    """As `weakref.finalize`: calls `leave` once, when `owner` is collected, when the result is called, or at the end of
    the process; but only in the process that called this.
    """
    return weakref.finalize(owner, _in_its_process, os.getpid(), leave, *given, **named)


def _in_its_process(maker: int, leave: Callable[P, object], *given: P.args, **named: P.kwargs) -> None:
    if os.getpid() == maker:
        leave(*given, **named)
