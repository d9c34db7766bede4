import bisect

import numpy as np

from tests.lessons.attempts import exercise

SLIPS = {
    "the first time above": (
        "since = None",
        "return next((t for t, value in zip(times, values) if value > level), None)",
    ),
    "an array": ("return since", "return since if since is None else np.array([since])"),
    "False where it never stays": ("return since", "return False if since is None else since"),
    "an error for empty lists": ("since = None", "since = None\n    values[-1]"),
    "fixed level": ("value <= level", "value <= 0.5"),
}


def arrays(times, values, level):
    low = np.flatnonzero(np.array(values) <= level)
    start = int(low[-1]) + 1 if low.size else 0
    return times[start] if start < len(times) else None


def bisected(times, values, level):
    ends = [min(values[k:]) > level for k in range(len(values))]
    k = bisect.bisect_left(ends, True)
    return times[k] if k < len(times) else None


RIGHT = {"with numpy": arrays, "by bisection": bisected}
ATTEMPTS = {"good_since": exercise("watch", 0, "good_since", SLIPS, RIGHT)}
