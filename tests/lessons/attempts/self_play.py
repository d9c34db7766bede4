import math

import numpy as np

from dshq_widget.lessons.checks.self_play import reference as expected
from tests.lessons.attempts import Attempts


def update(rating, other, points, k=32):
    return rating + k * (points - expected(rating, other))


def by_logistic(rating, other):
    return 1 / (1 + math.exp((other - rating) * math.log(10) / 400))


def by_powers(rating, other):
    own = np.float64(10) ** (rating / 400)
    return own / (own + 10 ** (other / 400))


def other_way(rating, other, points, k=32):
    return rating - k * (expected(rating, other) - points)


ATTEMPTS = {
    "elo": Attempts(
        {
            "half": (lambda rating, other: 0.5, update),
            "the other's": (lambda rating, other: expected(other, rating), update),
            "e for 10": (lambda rating, other: 1 / (1 + math.exp((other - rating) / 400)), update),
            "400 forgotten": (lambda rating, other: 1 / (1 + 10 ** ((other - rating) / 4000)), update),
            "share of the ratings": (lambda rating, other: rating / (rating + other), update),
            "a percentage": (lambda rating, other: 100 * expected(rating, other), update),
            "does not move": (expected, lambda rating, other, points, k=32: rating),
            "only the change": (expected, lambda rating, other, points, k=32: k * (points - expected(rating, other))),
            "k written into it": (expected, lambda rating, other, points, k=32: update(rating, other, points)),
            "another k": (expected, lambda rating, other, points, k=16: update(rating, other, points, k)),
            "moves the wrong way": (
                expected,
                lambda rating, other, points, k=32: rating - k * (points - expected(rating, other)),
            ),
            "expects a draw": (expected, lambda rating, other, points, k=32: rating + k * (points - 0.5)),
            "the other's rating": (expected, lambda rating, other, points, k=32: update(other, rating, points, k)),
            "rounded": (expected, lambda *given, **named: round(update(*given, **named))),
            "nothing is returned": (lambda rating, other: None, update),
            "nothing is returned by update": (expected, lambda rating, other, points, k=32: None),
        },
        {
            "the logistic function": (by_logistic, update),
            "powers, and the signs turned": (by_powers, other_way),
            "single precision": (
                lambda *given: np.float32(expected(*given)),
                lambda *given, **named: np.float32(update(*given, **named)),
            ),
        },
    )
}
