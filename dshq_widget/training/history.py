"""The history of metrics, of bounded size (evenly thinned), and the progress bar."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

from dshq_widget.contract.finite import is_finite
from dshq_widget.system.streams import say


def clean(values: Mapping[str, Any]) -> dict[str, float | int]:
    """`values` without booleans, text, infinities and NaN, which JSON and charts cannot hold."""
    return {str(name): value for name, value in values.items() if is_finite(value)}


class History:
    """Rows of metrics, at most `limit` of them; safe to use from several threads.

    When it is full, every second row is dropped, and from then on only every second new row is kept, and so on. The
    rows stay evenly spaced over the whole run.
    """

    def __init__(self, limit: int = 2000) -> None:
        self.limit = limit
        self.number = 0
        """Of this history: how many were cleared before it."""
        self._lock = threading.Lock()
        self._rows: list[dict[str, float | int]] = []
        self._stride = 1
        self._skip = 0
        self._last: dict[str, float | int] = {}

    def append(self, row: Mapping[str, Any]) -> None:
        """Add the newest row."""
        with self._lock:
            self._last = clean(row)
            if self._skip:
                self._skip -= 1
                return
            if len(self._rows) >= self.limit:
                self._rows = self._rows[::2]
                self._stride *= 2
            self._rows.append(self._last)
            self._skip = self._stride - 1

    def cut(self, agent_steps: int) -> None:
        """Forget what was measured after so many steps."""
        with self._lock:
            self.number += 1
            self._rows = [row for row in self._rows if row.get("agent_steps", 0) <= agent_steps]
            self._last, self._skip = (self._rows[-1] if self._rows else {}), 0

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self.number += 1
            self._rows, self._stride, self._skip, self._last = [], 1, 0, {}

    def rows(self) -> list[dict[str, float | int]]:
        """Copies of the rows kept, oldest first; always includes the newest one."""
        with self._lock:
            rows = [dict(row) for row in self._rows]
            if self._rows and self._rows[-1] is not self._last:
                rows.append(dict(self._last))
            return rows


class Progress:
    """A one-line progress bar, redrawn in place: on stderr, or on stdout in a notebook, where stderr looks like an
    error. Once nobody can read it any more, nothing is drawn.
    """

    WIDTH = 24

    def __init__(self, enabled: bool = True) -> None:
        self._enabled = enabled
        self._stream = sys.stdout if type(sys.stdout).__module__.startswith("ipykernel.") else sys.stderr
        self._shown = ""
        self._drawn = 0.0

    def show(self, share: float, text: str) -> None:
        """Draw `share` (0..1) and a text, at most 4 times a second."""
        if not self._enabled:
            return
        full = round(share * self.WIDTH)
        line = self._cut(f"[{'#' * full}{'.' * (self.WIDTH - full)}] {share:4.0%} {text}")
        now = time.monotonic()
        if line != self._shown and (now - self._drawn >= 0.25 or share >= 1):
            self._say(f"\r{line:<{len(self._shown)}}", end="")
            self._shown, self._drawn = line, now

    def _cut(self, line: str) -> str:
        """Cut the line to the terminal's width at a word: a wrapped line cannot be redrawn in place."""
        room = shutil.get_terminal_size().columns - 1
        if len(line) <= room or getattr(self._stream, "closed", False) or not self._stream.isatty():
            return line
        return line[: room - 1].rsplit(" ", 1)[0] + " …"

    def interrupted(self, _: object) -> bool:
        """A filter of the log that takes everything: what is about to be printed gets a line of its own."""
        self.close()
        self._drawn = time.monotonic()  # so that it is printed before the next line is
        return True

    def note(self, text: str) -> None:
        """Print one sentence on a line of its own."""
        self.close()
        self._say(text)

    def close(self) -> None:
        """End the line."""
        if self._shown:
            self._say("")
            self._shown = ""

    def _say(self, text: str, end: str = "\n") -> None:
        self._enabled = self._enabled and say(text, self._stream, end)
