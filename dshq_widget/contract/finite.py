"""Which numbers from outside (a file, a page) can be computed with, and which texts can be sent on."""

from __future__ import annotations

import numbers
import sys
from collections.abc import Iterator, Mapping
from typing import Any

MOST_WHOLE = (1 << 63) - 1
"""The largest whole number that a file may hold: of 64 bits."""


def is_finite(value: Any) -> bool:
    """Whether it is an int or a float (not a bool) that a float can hold: no infinity, no NaN, and no whole number
    beyond 1.8e308, at which `math.isfinite` itself raises OverflowError.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and -sys.float_info.max <= value <= sys.float_info.max


def plain(value: Any) -> Any:
    """NumPy's numbers, arrays and truth values as Python's; anything else as it is."""
    return value.tolist() if callable(getattr(value, "tolist", None)) else value


def for_json(value: Any) -> Any:
    """`default` of `json.dumps`, which then writes NumPy's numbers as Python's."""
    found = plain(value)
    if found is value:
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return found


def strict(value: Any) -> Any:
    """Plain JSON values, nested at will, with None for numbers that JSON has no word for: NaN and the infinities."""
    if isinstance(value, Mapping):
        return {key: strict(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(one) for one in value]
    return None if isinstance(value, float) and not is_finite(value) else value


def finite(value: Any) -> float | int | None:
    """A number from a caller, NumPy's included, as Python's; None for anything else, and for what is not finite."""
    found = plain(value)
    if isinstance(found, numbers.Rational) and not isinstance(found, (int, bool)):
        try:
            found = float(found)
        except OverflowError:  # beyond any float
            return None
    return found if is_finite(found) else None


def whole(what: str, value: Any, least: int | None = None) -> int:
    """A whole number from a caller, NumPy's included; `what` names it. Raises ValueError for anything else."""
    found = finite(value)
    if found is None or found != int(found) or (least is not None and found < least):
        wanted = "a whole number" + ("" if least is None else f" of at least {least}")
        raise ValueError(f"{what} must be {wanted}, got {value!r:.60}")
    return int(found)


def is_text(text: str) -> bool:
    """Whether UTF-8 has it: not half of a character, as JSON's "\\ud800" is, with which no message could be sent."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def leaves(value: Any) -> Iterator[Any]:
    """Each name and each plain value of JSON values, nested at will."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting += [*one, *one.values()]
        elif isinstance(one, (list, tuple)):
            waiting += one
        else:
            yield one


def unusable(value: Any) -> str:
    """Why plain JSON values, nested at will, hold a number that cannot be computed with, or a text that cannot be sent
    on; "" if none does.
    """
    for one in leaves(value):
        if isinstance(one, float) and not is_finite(one):
            return f"{one} is not finite"
        if isinstance(one, int) and abs(one) > MOST_WHOLE:
            return f"a whole number of {one.bit_length()} bits is too large"
        if isinstance(one, str) and not is_text(one):
            return "a text has half of a character"
    return ""
