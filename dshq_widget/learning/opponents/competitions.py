"""The competition that there is: a line of its own."""

from __future__ import annotations

from dshq_widget.learning.league import LEAGUE
from dshq_widget.learning.opponents.competition import Competition

_FOUND: tuple[Competition, ...] = (
    LEAGUE,
)  # fmt: skip
COMPETITION = next(iter(_FOUND), None)
"""One at most, because a run has one pool; None where there is none."""
