"""Since when a curve stays above a level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

DONE = "a lucky moment no longer counts, and a curve that never gets there gets no time."

TIMES = (0.0, 1.5, 3.0, 4.5, 6.0)
CASES: tuple[tuple[Sequence[float], float | None, str], ...] = (
    ((0.1, 0.3, 0.7, 0.8, 0.9), 3.0, "It rises and stays."),
    ((0.1, 0.3, 0.4, 0.5, 0.5), None, "It never gets there, and 0 s would be a very good time: give `None`."),
    ((0.1, 0.9, 0.4, 0.8, 0.9), 4.5, "It gets above at 1.5 s, but falls back at 3 s: a lucky moment does not count."),
    ((0.1, 0.9, 0.8, 0.7, 0.2), None, "It ends below, so it does not stay above."),
    ((0.9, 0.9, 0.8, 0.7, 0.7), 0.0, "It is above from the first moment on."),
    ((0.1, 0.5, 0.6, 0.6, 0.7), 6.0, "Exactly at the level is not above it."),
)
"""Values at TIMES, since when they are above LEVEL, and what that shows."""
LEVEL = 0.6


def missing(good_since: Callable[[Sequence[float], Sequence[float], float], Any]) -> list[str]:
    """The first case that the function still gets wrong; fixing it often fixes the others."""
    if not callable(good_since):
        return [f"Give the function itself, `check('watch', good_since)`; this is {type(good_since).__name__}."]
    for scale in (1.0, 2.0):  # other levels and times as well
        times, level = [scale * time for time in TIMES], scale * LEVEL
        for values, first, why in CASES:
            wanted = None if first is None else scale * first
            scaled = [scale * value for value in values]
            given = good_since(list(times), list(scaled), level)
            if np.ndim(given) or given != wanted or (given is None) != (wanted is None):
                return [
                    f"For the times {times} and the values {scaled}, level {level}, it gives {given!r} and "
                    f"should give {wanted!r}. {why}"
                ]
    try:
        nothing = good_since([], [], LEVEL)
    except (IndexError, ValueError) as error:
        return [
            f"For empty lists it ends with {type(error).__name__}: a curve without points is never above. Give `None`."
        ]
    return [] if nothing is None else ["A curve without points is never above the level: give `None` for empty lists."]
