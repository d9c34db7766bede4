"""The checks of the lesson on the class league say what is wrong with nearly right answers."""

import numpy as np
import pytest

pytest.importorskip("sqlalchemy")

from dshq_widget.classroom import lesson
from dshq_widget.classroom.standings import Row, Table
from dshq_widget.learning import elo


@pytest.fixture(scope="module")
def table() -> Table:
    """Three entries: b won 20 and drew 4 of 32 with random, c all with random and half with b."""
    points = np.array([[0, 10, 0], [22, 0, 16], [32, 16, 0]], float)
    matches = np.array([[0, 32, 32], [32, 0, 32], [32, 32, 0]], float)
    rating, half = elo.ratings(points, matches, np.array([1000.0, np.nan, np.nan]))
    counts = {"random": (8, 4, 52), "b": (36, 4, 24), "c": (48, 0, 16)}
    rows = [
        Row(k, k, name, k == 0, name, float(rating[k]), float(half[k]), *counts[name]) for k, name in enumerate(counts)
    ]
    return Table(rows, points, matches)


def test_points_and_ratings(table: Table):
    def right(played, made):
        rating = np.full(3, 1000.0)
        for _ in range(4000):
            expected = (played / (1 + 10 ** ((rating[None] - rating[:, None]) / 400))).sum(1)
            rating += 400 * (made - expected) / played.sum(1)
            rating += 1000.0 - rating[0]
        return rating

    fair = {"random": 10.0, "b": 38.0, "c": 48.0}
    assert lesson.missing(lambda blocks: fair, right, table=table) == []
    for mine, told in (
        ({"random": 10.0, "c": 48.0}, "`b` is nowhere"),
        ({**fair, "b": 40.0}, "too many"),
        ({**fair, "b": 36.0}, "half a point"),
        (None, "a dict"),
    ):
        assert told in lesson.missing(lambda blocks, mine=mine: mine, table=table)[0]
    assert "rated alike" in lesson.missing(ratings=lambda played, made: np.full(3, 1000.0), table=table)[0]
    assert "comes to" in lesson.missing(ratings=lambda played, made: 2 * right(played, made), table=table)[0]
    assert "3 numbers" in lesson.missing(ratings=lambda played, made: np.ones(1), table=table)[0]
