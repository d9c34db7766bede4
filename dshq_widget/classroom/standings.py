"""From played blocks to a table: points, ratings with a band, the cross table, and the same as CSV."""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dshq_widget.classroom.spreadsheet import plain
from dshq_widget.learning import elo

BASE_ELO = 1000.0
"""Rating of random play, the entry at place 0; as in learning/league/league.py."""
COLUMNS = (
    "rank",
    "name",
    "elo",
    "elo_low",
    "elo_high",
    "points",
    "games",
    "wins",
    "draws",
    "losses",
    "policy",
    "same_as",
)
"""Of the CSV."""


@dataclasses.dataclass(frozen=True)
class Row:
    """One entry's standing."""

    rank: int
    """1 is the best, of students among students; equal ratings share one, and the next ranks are left out; 0 where
    `ranked` is not.
    """
    place: int
    name: str
    anchor: bool
    digest: str
    elo: float
    half: float
    """Half the width of the rating's 95 % band, measured from random play: 0 for that, infinite before any game."""
    wins: int
    draws: int
    losses: int
    same_as: tuple[str, ...] = ()
    """Other entries, anchors too, that are the same policy to the bit."""
    instructor: bool = False
    """Whose it is: it plays and is rated like any other, but takes no student's rank."""

    @property
    def ranked(self) -> bool:
        """Whether it is a student's."""
        return not (self.anchor or self.instructor)

    @property
    def games(self) -> int:
        """Games played."""
        return self.wins + self.draws + self.losses

    @property
    def points(self) -> float:
        """A win 1, a draw 1/2."""
        return self.wins + self.draws / 2


@dataclasses.dataclass(frozen=True)
class Table:
    """A round's standings."""

    rows: list[Row]
    """Strongest first, and those without games last."""
    points: np.ndarray
    """f64 `[n, n]` by place: the row's points against the column."""
    matches: np.ndarray
    """f64 `[n, n]` games."""


def table(entries: Sequence[Any], results: Sequence[Any]) -> Table:
    """The standings of a round from the store's rows; entries without games are last."""
    place = {entry.id: entry.place for entry in entries}
    count = len(entries)
    won, drawn = np.zeros((count, count)), np.zeros((count, count))
    counted = [(place[r.first_id], place[r.second_id], r.wins, r.draws, r.losses) for r in results]
    first, second, wins, draws, losses = np.array(counted, int).reshape(-1, 5).T
    for counts, ahead, behind in ((won, wins, losses), (drawn, draws, draws)):
        np.add.at(counts, (first, second), ahead)
        np.add.at(counts, (second, first), behind)
    same: dict[str, list[Any]] = {}
    for entry in entries:
        same.setdefault(entry.digest, []).append(entry)
    points, matches = won + drawn / 2, won + won.T + drawn
    pinned = np.full(count, np.nan)
    pinned[:1] = BASE_ELO
    rating, half = elo.ratings(points, matches, pinned) if count else (pinned, pinned)
    rows: list[Row] = []
    ranks: dict[tuple[bool, float], int] = {}
    counted_in = 0
    idle = matches.sum(1) == 0
    strength = [(bool(idle[k]), -round(float(rating[k]), 6)) for k in range(count)]
    for entry in sorted(entries, key=lambda e: (strength[e.place], e.place)):
        k = entry.place
        ranked = not (entry.anchor or entry.instructor)
        counted_in += ranked
        rank = ranks.setdefault(strength[k], counted_in) if ranked else 0
        rows.append(
            Row(
                rank,
                k,
                entry.name,
                entry.anchor,
                entry.digest,
                float(rating[k]),
                float(half[k]),
                int(won[k].sum()),
                int(drawn[k].sum()),
                int(won[:, k].sum()),
                tuple(other.name for other in same[entry.digest] if other.id != entry.id),
                entry.instructor,
            )
        )
    return Table(rows, points, matches)


def as_csv(standings: Table) -> str:
    """The students' rows for a grade book; a spreadsheet takes no name for a formula. Whom no games link to random play
    has no rating.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in standings.rows:
        if not row.ranked:
            continue
        band = [f"{value:.1f}" for value in (row.elo, row.elo - row.half, row.elo + row.half)]
        if not math.isfinite(row.half):
            band = ["", "", ""]
        writer.writerow(
            [
                row.rank,
                plain(row.name),
                *band,
                row.points,
                row.games,
                row.wins,
                row.draws,
                row.losses,
                row.digest,
                plain(" ".join(row.same_as)),
            ]
        )
    return text.getvalue()
