"""Which numbers from outside (a file, a page) can be computed with."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Mapping
from typing import Any

MOST_WHOLE = (1 << 63) - 1
"""The largest whole number that a file may hold: of 64 bits."""


def is_finite(value: Any) -> bool:
    """Whether it is an int or a float (not a bool) that a float can hold: no infinity, no NaN, and no whole number
    beyond 1.8e308, at which `math.isfinite` itself raises OverflowError.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and -sys.float_info.max <= value <= sys.float_info.max


def finite(value: Any) -> float | int | None:
    """A number from a caller, NumPy's included, as Python's; None for anything else, and for what is not finite."""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        value = int(value)
    elif isinstance(value, numbers.Real) and not isinstance(value, bool):
        value = float(value)
    return value if is_finite(value) else None


def unusable(value: Any) -> str:
    """Why plain JSON values, nested at will, hold a number that cannot be computed with; "" if none does."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting += one.values()
        elif isinstance(one, (list, tuple)):
            waiting += one
        elif isinstance(one, float) and not is_finite(one):
            return f"{one} is not finite"
        elif isinstance(one, int) and abs(one) > MOST_WHOLE:
            return f"a whole number of {one.bit_length()} bits is too large"
    return ""
