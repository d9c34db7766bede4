"""Records which notebook cell created which widget, so that running a cell again closes its earlier widgets."""

from __future__ import annotations

import contextlib
import sys
from typing import Protocol


class Closes(Protocol):
    """An object created in a cell that would otherwise hold threads, memory and its page until the kernel ends."""

    def close(self) -> None: ...


_made: dict[str, tuple[str, list[Closes]]] = {}


def running_cell() -> tuple[str, str] | None:
    """(cell id, id of this execution) if the front end sends it in the request's metadata, as JupyterLab does."""
    ipython = sys.modules.get("IPython")
    kernel = getattr(ipython.get_ipython(), "kernel", None) if ipython else None
    if kernel is None:
        return None
    request = kernel.get_parent("shell")
    cell = request.get("metadata", {}).get("cellId")
    return (cell, request["header"]["msg_id"]) if cell else None


def supersede(widget: Closes) -> bool:
    """Close the widgets created by an earlier execution of the same cell; whether there were any."""
    running = running_cell()
    if running is None:
        return False
    cell, execution = running
    earlier, widgets = _made.get(cell, (execution, []))
    superseded = widgets if earlier != execution else []
    _made[cell] = (execution, [widget] if superseded else [*widgets, widget])
    with contextlib.ExitStack() as closing:  # all of them, where Ctrl-C ends the waiting for one
        for old in reversed(superseded):
            closing.callback(old.close)
    return bool(superseded)
