"""What the lesson about the league imports, and the checks of its exercises: points and ratings of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.local import Block, LocalLeague
from dshq_widget.classroom.standings import Table
from dshq_widget.classroom.submit import submit
from dshq_widget.classroom.verify_replay import verify
from dshq_widget.learning import elo

__all__ = ["LeagueError", "LocalLeague", "missing", "submit", "verify"]

OTHER_BLOCKS = (Block(1, "ann", "bea", 20, 3, 9), Block(2, "cat", "ann", 0, 32, 0), Block(3, "bea", "cat", 5, 6, 21))
OTHER_POINTS = {"ann": 37.5, "bea": 18.5, "cat": 40.0}
"""What their games come to."""
CLOSE = 1.0
"""Elo by which ratings that were found step by step may miss."""
DONE = (
    "Your numbers are the table's. Nobody has to believe it now: what was played, and a page of Python, say the same."
)


def missing(
    points: Callable[[Sequence[Block]], dict[str, float]] | None = None,
    ratings: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    *,
    table: Table,
    blocks: Sequence[Block] = (),
) -> list[str]:
    """What is wrong with the functions of the first and the second exercise, as far as they are given."""
    found: list[str] = []
    if points is not None:
        found += _points(points(blocks), table) or _other_points(points)
    if ratings is not None:
        found += _ratings(ratings(*_mixed(table)), table) or _other_ratings(ratings)
    return found


def _other_points(points: Callable[[Sequence[Block]], dict[str, float]]) -> list[str]:
    """A function that reads the table passes until the blocks are others. They are made up: the table and its blocks
    are variables of the lesson, which an answer may set.
    """
    mine = points(list(OTHER_BLOCKS))
    found = [np.asarray(mine.get(name, 0.0), np.float64) for name in OTHER_POINTS]
    if np.array_equal(found, list(OTHER_POINTS.values())):
        return []
    return ["Right for this table, and wrong for other blocks: add up the blocks that the function is given."]


def _other_ratings(ratings: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> list[str]:
    """The same for ratings, on a table of three that was made up."""
    matches = np.array([[0.0, 40.0, 20.0], [40.0, 0.0, 60.0], [20.0, 60.0, 0.0]])
    won = np.array([[0.0, 10.0, 4.0], [30.0, 0.0, 27.0], [16.0, 33.0, 0.0]])
    mixed, played = elo.with_draws(won, matches, np.array([False, True, True]))
    wanted, _ = elo.ratings(won, matches, np.array([1000.0, np.nan, np.nan]))
    found = np.asarray(ratings(played, mixed.sum(axis=1)), np.float64)
    if found.shape == wanted.shape and np.abs(found - wanted).max() < CLOSE:
        return []
    return ["Right for this table, and wrong for another one: compute from the games and points that are given."]


def _points(mine: Any, table: Table) -> list[str]:
    wanted = {row.name: row.points for row in table.rows}
    if not isinstance(mine, dict):
        return [f"`points` should return a dict of points by name, this is {type(mine).__name__!r}."]
    absent = sorted(wanted.keys() - mine.keys())
    if absent:
        return [f"`{absent[0]}` is nowhere in your points: both players of a block get some."]
    odd = [name for name in wanted if not isinstance(mine[name], (int, float, np.number))]
    if odd:
        return [f"`{odd[0]}` has {mine[odd[0]]!r}: points are numbers."]
    mine = {name: float(np.asarray(mine[name], np.float64)) for name in wanted}  # whatever its type calls equal
    if any(mine[name] > wanted[name] for name in wanted):
        worst = max(wanted, key=lambda name: mine[name] - wanted[name])
        return [f"`{worst}` has {mine[worst]:g} points, and the table says {wanted[worst]:g}: too many."]
    worst = min(wanted, key=lambda name: mine[name] - wanted[name])
    if mine[worst] < wanted[worst]:
        return [
            f"`{worst}` has {mine[worst]:g} points, and the table says {wanted[worst]:g}: a draw is half a point for "
            "each, and what the first lost the second won."
        ]
    return []


def _mixed(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Games f64 `[n, n]` and points f64 `[n]` by place, with the two draws that nobody played."""
    points, matches = elo.with_draws(table.points, table.matches, np.arange(len(table.points)) > 0)
    return matches, points.sum(axis=1)


def _ratings(mine: Any, table: Table) -> list[str]:
    found = np.asarray(mine, np.float64)
    wanted = np.zeros(len(table.points))
    for row in table.rows:
        wanted[row.place] = row.elo
    if found.shape != wanted.shape or not np.isfinite(found).all():
        return [f"`ratings` should return {len(wanted)} numbers, one for each place."]
    if np.ptp(found) < CLOSE:
        return ["Everybody is rated alike: nobody made more or fewer points than you `expected` of them."]
    worst = int(np.argmax(np.abs(found - wanted)))
    if abs(found[worst] - wanted[worst]) > CLOSE:
        name = next(row.name for row in table.rows if row.place == worst)
        return [
            f"`{name}` comes to {found[worst]:.0f}, and the table says {wanted[worst]:.0f}. Expected points: over all "
            "opponents, games times 1 / (1 + 10 ** (-ahead / 400))."
        ]
    return []
