"""Which notebook cell made which widget, so that running a cell again stops what it trained before."""

from __future__ import annotations

import sys
from typing import Protocol


class Trains(Protocol):
    """What a cell made: something whose training can be stopped."""

    def stop(self) -> None: ...


_made: dict[str, tuple[str, list[Trains]]] = {}


def running_cell() -> tuple[str, str] | None:
    """(cell id, id of this execution) where the front end says so in the request's metadata, as JupyterLab does."""
    ipython = sys.modules.get("IPython")
    kernel = getattr(ipython.get_ipython(), "kernel", None) if ipython else None
    if kernel is None:
        return None
    request = kernel.get_parent("shell")
    cell = request.get("metadata", {}).get("cellId")
    return (cell, request["header"]["msg_id"]) if cell else None


def supersede(widget: Trains) -> None:
    """Stop the training of the widgets that an earlier execution of the same cell made."""
    running = running_cell()
    if running is None:
        return
    cell, execution = running
    earlier, widgets = _made.get(cell, (execution, []))
    if earlier != execution:
        for old in widgets:
            old.stop()
        widgets = []
    _made[cell] = (execution, [*widgets, widget])
