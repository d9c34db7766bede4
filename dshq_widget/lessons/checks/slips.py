"""Usual slips: the numbers that they give, and the hint for each; answers that are none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

TOLERANCE = 1e-4


def same(given: Any, wanted: Any, tolerance: float = TOLERANCE) -> bool:
    """Whether two numbers, or arrays of one shape, agree."""
    given, wanted = np.asarray(given, np.float64), np.asarray(wanted, np.float64)
    return given.shape == wanted.shape and bool(np.allclose(given, wanted, rtol=tolerance, atol=tolerance))


def hint(given: Any, slips: Mapping[str, Any], tolerance: float = TOLERANCE) -> list[str]:
    """The hint of the first slip that gives the same; none if no slip does."""
    return next(([text] for text, number in slips.items() if same(given, number, tolerance)), [])


def unlike(answer: Any, shape: tuple[int, ...], name: str) -> list[str]:
    """What is wrong with what the function `name` returned, if it is not an array of this shape."""
    if answer is None:
        return [f"`{name}` returns nothing: end it with `return`."]
    if np.shape(answer) != shape:
        return [f"`{name}` should give numbers of shape {shape}; it gives shape {np.shape(answer)}."]
    return []


Judge = Callable[[Callable[..., Any]], str | None]
"""What is wrong with a function; None if nothing is."""


def first_wrong(given: Mapping[str, tuple[Callable[..., Any] | None, Judge]], ask: str) -> list[str]:
    """What the functions that are given still get wrong, the first thing only; `ask` where none is given."""
    asked = {name: (function, judge) for name, (function, judge) in given.items() if function is not None}
    if not asked:
        return [ask]
    for name, (function, judge) in asked.items():
        if not callable(function):
            return [f"`{name}` should be a function; it is {type(function).__name__}."]
        if told := judge(function):
            return [told]
    return []
