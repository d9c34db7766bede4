"""Whether somebody's `expected` and `update` are Elo's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

TOLERANCE = 1e-6
PAIRS = ((1000.0, 1000.0), (1400.0, 1000.0), (1000.0, 1400.0), (1613.0, 1609.0), (2882.0, 1200.0))
DONE = (
    "Your ratings rise by what was won beyond what was expected, and what one player gains the other loses. That "
    "is Elo's system of 1960, and chess still uses it."
)


def reference(rating: float, other: float) -> float:
    """Points per match that are expected of a player with `rating` against one with `other`."""
    return 1 / (1 + 10 ** ((other - rating) / 400))


def missing(expected: Callable[..., Any], update: Callable[..., Any]) -> list[str]:
    """What `expected(rating, other)` and `update(rating, other, points, k=32)` still lack."""
    for function, given in (("expected", expected(*PAIRS[0])), ("update", update(*PAIRS[0], 1.0))):
        if given is None:
            return [f"`{function}` returns nothing: end it with `return` and the number."]
    for rating, other in PAIRS:
        answer, wanted = float(expected(rating, other)), reference(rating, other)
        if abs(answer - wanted) < TOLERANCE:
            continue
        if rating != other and abs(answer - reference(other, rating)) < TOLERANCE:
            return ["`expected` is the other player's: somebody who is ahead should expect more than half a point."]
        if abs(answer - 1 / (1 + np.exp((other - rating) / 400))) < TOLERANCE:
            return ["`expected` uses e where Elo uses 10: 400 points ahead are ten to one."]
        return [f"`expected({rating:g}, {other:g})` should be {wanted:.4f}; yours is {answer:.4f}."]
    found = []
    for rating, other, points, k in ((1000.0, 1000.0, 1.0, 32.0), (1400.0, 1000.0, 0.5, 32.0), (900.0, 1500.0, 1, 8)):
        answer, wanted = float(update(rating, other, points, k)), rating + k * (points - reference(rating, other))
        if not math.isclose(answer, wanted, rel_tol=TOLERANCE):
            found = [
                f"`update({rating:g}, {other:g}, {points:g}, k={k:g})` should be {wanted:.2f}; yours is {answer:.2f}. "
                "A rating moves by `k` times (points won minus points expected)."
            ]
            break
    if not found and not math.isclose(float(update(1000.0, 1000.0, 1.0)), 1016.0, rel_tol=TOLERANCE):
        found = ["Without a `k` it should be 32: two equals meet, and the winner gets 16."]
    return found
