"""What an algorithm's own learning curves look like. The page draws them beside those that every run has."""

from __future__ import annotations

import dataclasses
from typing import Any

FORMATS = ("number", "signed", "percent")


@dataclasses.dataclass(frozen=True)
class Curve:
    """One chart. `lines` are metrics (contract/metrics.py) and what each is called in the legend; six at most, since
    there are six colours.
    """

    title: str
    help: str
    """A sentence on what it shows, and whether it should rise."""
    lines: dict[str, str]
    format: str = "number"
    """How values are written: `number`, `signed` or `percent`."""
    colour: int = 1
    """The first line's colour, 1 to 6; the next lines have the next ones."""
    zero: bool = False
    """The axis begins at zero, and the area is filled. Percentages end at 100 %."""
    log: bool = False
    """The axis may be logarithmic."""
    sides: int = 0
    """Only for drills with this number of sides; 0: for all."""

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"wanted the format {', '.join(FORMATS)}, got {self.format!r}")
        if not 1 <= len(self.lines) <= 6 or not 1 <= self.colour <= 6:
            raise ValueError(f"wanted one to six lines and a colour from 1 to 6, got {self.lines!r}, {self.colour!r}")

    def to_json(self) -> dict[str, Any]:
        """As the page reads it (js/contract/protocol.ts, DeclaredCurve)."""
        return dataclasses.asdict(self)
