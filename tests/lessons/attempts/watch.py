import bisect

import numpy as np

from tests.lessons.attempts import Attempts, one


def right(times, values, level):
    since = None
    for time, value in zip(times, values, strict=True):
        since = (time if since is None else since) if value > level else None
    return since


def first_above(times, values, level):
    return next((time for time, value in zip(times, values, strict=True) if value > level), None)


def last_below(times, values, level):
    below = [k for k, value in enumerate(values) if value <= level]
    return times[below[-1] + 1] if below and below[-1] + 1 < len(times) else None


def backwards(times, values, level):
    k = len(values)
    while values[k - 1] > level:  # raises IndexError for empty lists
        k -= 1
        if k == 0:
            break
    return times[k] if k < len(times) else None


def arrays(times, values, level):
    low = np.flatnonzero(np.array(values) <= level)
    start = int(low[-1]) + 1 if low.size else 0
    return times[start] if start < len(times) else None


def bisected(times, values, level):
    ends = [min(values[k:]) > level for k in range(len(values))]
    k = bisect.bisect_left(ends, True)
    return times[k] if k < len(times) else None


ATTEMPTS = {
    "good_since": Attempts(
        one(
            {
                "not a function": 3.0,
                "the first time above": first_above,
                "0 where it never stays": lambda *given: right(*given) or 0,
                "an array": lambda *given: None if right(*given) is None else np.array([right(*given)]),
                "-1 where it never stays": lambda *given: -1 if right(*given) is None else right(*given),
                "False where it never stays": lambda *given: False if right(*given) is None else right(*given),
                "at the level counts as above": lambda times, values, level: right(times, values, level - 1e-9),
                "a place instead of a time": lambda times, *rest: (
                    None if right(times, *rest) is None else times.index(right(times, *rest))
                ),
                "the last time below": lambda times, values, level: max(
                    (time for time, value in zip(times, values, strict=True) if value <= level), default=None
                ),
                "None where it is always above": last_below,
                "an error for empty lists": backwards,
                "the largest value only": lambda times, values, level: times[int(np.argmax(values))],
                "nothing is returned": lambda times, values, level: None,
                "fixed level": lambda times, values, level: right(times, values, 0.5),
            }
        ),
        one({"with numpy": arrays, "by bisection": bisected, "one pass forwards": right}),
    )
}
