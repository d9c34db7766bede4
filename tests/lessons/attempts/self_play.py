import math

import numpy as np

from dshq_widget.lessons.checks.self_play import reference as expected
from tests.lessons.attempts import exercise

NEW = "rating + k * (points - expected(rating, other))"
SLIPS = {
    "e for 10": ("10 **", "math.e **"),
    "k written into it": ("rating + k", "rating + 32"),
    "the other's rating": (NEW, "other + k * (points - expected(other, rating))"),
    "rounded": (NEW, f"round({NEW})"),
    "nothing is returned by update": ("return rating", "rating"),
}
SINGLE = ("1 / (1 + 10 ** ((other - rating) / 400))", "np.float32(1 / (1 + 10 ** ((other - rating) / 400)))")


def by_logistic(rating, other):
    return 1 / (1 + math.exp((other - rating) * math.log(10) / 400))


def by_powers(rating, other):
    own = np.float64(10) ** (rating / 400)
    return own / (own + 10 ** (other / 400))


def other_way(rating, other, points, k=32):
    return rating - k * (expected(rating, other) - points)


RIGHT = {
    "the logistic function": by_logistic,
    "powers, and the signs turned": {"expected": by_powers, "update": other_way},
    "single precision": (*SINGLE, NEW, f"np.float32({NEW})"),
}
ATTEMPTS = {"elo": exercise("self_play", 0, "expected update", SLIPS, RIGHT)}
