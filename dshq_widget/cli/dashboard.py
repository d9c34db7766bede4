"""The dashboard of `dshq train --dashboard`: the newest metrics by category, and the progress, redrawn in place."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from dshq_widget.cli.arguments import UsageError
from dshq_widget.contract.metrics import METRIC_CATEGORIES, METRICS, metric_named
from dshq_widget.training.history import Progress

try:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.panel import Panel
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text
except ImportError as error:
    raise UsageError("--dashboard needs rich: pip install 'dshq-widget[dashboard]'") from error

SECONDS = 0.25
"""Between two drawings."""
FULL = ("updates", "version", "agent_steps", "simulated_steps", "buffer_size", "episodes")
"""Counts, written in full."""


def number(name: str, value: float) -> str:
    """A metric as people read it: counts in full, the rest to four digits."""
    if name in FULL:
        return f"{int(value):,}"
    if not math.isfinite(value):
        return "-"
    size = abs(value)
    return f"{value:,.0f}" if size >= 10_000 else f"{value:.4g}"


def table(category: str, metrics: Mapping[str, float]) -> Table | None:
    """The metrics of one category with their units; None if there are none."""
    rows = [
        (name, value, known)
        for name, value in metrics.items()
        if (known := metric_named(name)) is not None and known.category == category
    ]
    if not rows:
        return None
    made = Table(box=None, pad_edge=False, show_header=False, expand=True)
    made.add_column(style="dim", ratio=3, no_wrap=True, overflow="ellipsis")
    made.add_column(justify="right", style="bold", ratio=2, no_wrap=True)
    made.add_column(style="dim", ratio=2, no_wrap=True, overflow="ellipsis")
    order = [*METRICS]
    for name, value, known in sorted(rows, key=lambda row: order.index(row[0]) if row[0] in order else len(order)):
        made.add_row(name, number(name, value), known.unit)
    return made


class Dashboard(Progress):
    """Shows `metrics()` in place of a progress bar; `console` is stderr by default."""

    def __init__(self, title: str, metrics: Callable[[], Mapping[str, float]], console: Any = None) -> None:
        super().__init__()
        self._title, self._metrics = title, metrics
        self._console = console or Console(stderr=True)
        self._live: Live | None = None

    def show(self, share: float, text: str) -> None:
        now = time.monotonic()
        if self._live is not None and now - self._drawn < SECONDS and share < 1:
            return
        self._drawn = now
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False, transient=False)
            self._live.start()
        self._live.update(self.picture(share, text), refresh=True)

    def picture(self, share: float, text: str) -> Panel:
        """The dashboard as it is now."""
        metrics = self._metrics()
        two = self._console.width >= 100
        grid = Table.grid(expand=True, padding=(0, 3))
        for _ in range(2 if two else 1):
            grid.add_column(ratio=1)
        cells = [
            Group(Text(category, style="bold cyan"), made)
            for category in METRIC_CATEGORIES
            if (made := table(category, metrics)) is not None
        ]
        step = 2 if two else 1
        for first in range(0, len(cells), step):
            grid.add_row(*cells[first : first + step])
        bar = Table.grid(expand=True)
        bar.add_column(ratio=1)
        bar.add_column(justify="right", width=6)
        bar.add_row(ProgressBar(total=1.0, completed=share), f"{share:4.0%}")
        return Panel(Group(bar, Text(text, style="dim"), Text(""), grid), title=self._title, title_align="left")

    def interrupted(self, _: object) -> bool:
        return True  # what is printed meanwhile appears above

    def note(self, text: str) -> None:
        self.close()
        self._console.print(text)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
