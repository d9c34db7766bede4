"""The checks of the lesson on the class league say what is wrong with nearly right answers."""

import numpy as np
import pytest

pytest.importorskip("sqlalchemy")

from dshq_widget.classroom import lesson
from tests.lessons.attempts.league import BLOCKS, NAMES, TABLE, points, ratings


def test_points_and_ratings():
    fair = points(BLOCKS)
    assert fair == {"random": 10.0, "b": 38.0, "c": 48.0}
    assert lesson.missing(points, ratings, table=TABLE, blocks=BLOCKS) == []
    for blocks in ((), BLOCKS[:1], BLOCKS):
        (told,) = lesson.missing(lambda blocks: fair, table=TABLE, blocks=blocks)
        assert told.startswith("Right for this table, and wrong for other blocks")
    equal = type("Equal", (float,), dict.fromkeys(("__eq__", "__le__"), lambda a, b: True) | {"__sub__": min})
    assert lesson.missing(lambda blocks: dict.fromkeys((*NAMES, *lesson.OTHER_POINTS), equal(0)), table=TABLE)
    for mine, told in (
        ({"random": 10.0, "c": 48.0}, "`b` is nowhere"),
        ({**fair, "b": 40.0}, "too many"),
        ({**fair, "b": 36.0}, "half a point"),
        (None, "a dict"),
    ):
        assert told in lesson.missing(lambda blocks, mine=mine: mine, table=TABLE)[0]
    assert "rated alike" in lesson.missing(ratings=lambda played, made: np.full(3, 1000.0), table=TABLE)[0]
    assert "comes to" in lesson.missing(ratings=lambda played, made: 2 * ratings(played, made), table=TABLE)[0]
    assert "3 numbers" in lesson.missing(ratings=lambda played, made: np.ones(1), table=TABLE)[0]
