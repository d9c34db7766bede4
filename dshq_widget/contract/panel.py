"""A panel on the page that an algorithm declares as data: the page draws it and needs no code for it."""

from __future__ import annotations

import dataclasses
from typing import Any

from dshq_widget.contract.metrics import metric_named

MOST_LETTERS = 20
"""Of a title, which is the name of a tab."""


@dataclasses.dataclass(frozen=True)
class Panel:
    """A tab of the algorithm's own: a sentence, the newest values of some metrics, and all its `curves`."""

    title: str
    """What the tab is called."""
    help: str
    """A sentence on what it shows."""
    rows: dict[str, str] = dataclasses.field(default_factory=dict)
    """Metrics (contract/metrics.py), and what each is called here. Unit and help are the metric's."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.title) <= MOST_LETTERS:
            raise ValueError(f"wanted a panel's title of 1 to {MOST_LETTERS} letters, got {self.title!r}")

    def to_json(self) -> dict[str, Any]:
        """As the page reads it (js/contract/protocol.ts, DeclaredPanel)."""
        rows = []
        for key, name in self.rows.items():
            metric = metric_named(key)
            assert metric is not None, key
            rows.append({"key": key, "name": name, "unit": metric.unit, "help": metric.text})
        return {"title": self.title, "help": self.help, "rows": rows}
