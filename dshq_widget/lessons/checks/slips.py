"""Usual slips: the numbers that they give, and the hint for each; answers that are none."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
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


class Unjudged(Exception):
    """An answer writes into what it should only read, or returns nothing. The message is the hint."""


def reading(function: Callable[..., Any], name: str, end: str | None = None) -> Callable[..., Any]:
    """The answer `name`, which gets copies of arrays, lists and dicts. Raises Unjudged where it writes into one, and
    where it returns nothing, if something is to be returned at its `end`.
    """

    def asked(*given: Any, **named: Any) -> Any:
        mine = [_copied(one) for one in given]
        answer = function(*mine, **named)
        for place, (one, before) in enumerate(zip(mine, given, strict=True)):
            if not _alike(one, before):
                what = _parameter(function, place)
                raise Unjudged(
                    f"`{name}` changes {what}, which the lesson still needs. Make a new array: `x = x - 1` instead of "
                    "`x -= 1`, and write into a copy only, `x.copy()`."
                )
        if answer is None and end is not None:
            raise Unjudged(f"`{name}` returns nothing: end it with {end}.")
        return answer

    return asked


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_copied(one) for one in value]
    return value.copy() if isinstance(value, np.ndarray) else value


def _alike(value: Any, before: Any) -> bool:
    if isinstance(before, dict):
        return value.keys() == before.keys() and all(_alike(value[key], one) for key, one in before.items())
    if isinstance(before, list):
        return len(value) == len(before) and all(map(_alike, value, before))
    if isinstance(before, np.ndarray):
        return np.array_equal(value, before, equal_nan=before.dtype.kind == "f")
    return True


def _parameter(function: Callable[..., Any], place: int) -> str:
    """What the answer calls what it gets at this place."""
    try:
        given = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of a function in C, for example
        given = []
    named = place < len(given) and given[place].kind is not inspect.Parameter.VAR_POSITIONAL
    return f"`{given[place].name}`" if named else "what it is given"


def runs_away(function: Callable[..., Any], *given: Any) -> bool:
    """Whether large numbers give something infinite, or none at all."""
    with np.errstate(all="ignore"):
        try:
            return not np.isfinite(np.asarray(function(*given), np.float64)).all()
        except OverflowError:  # of `math`
            return True


Judge = Callable[[Any], str | list[str] | None]
"""What is wrong with a function; nothing if nothing is."""
Judges = Mapping[str, Judge | tuple[Judge, str | None]]
"""By the name of the function; with what it ends with, by default `return`. None: it may return nothing."""


def first_wrong(given: Mapping[str, Any], judges: Judges, ask: str, raw: Sequence[str] = ()) -> list[str]:
    """What the functions that are `given` by name still get wrong, the first thing only; `ask` where none of `judges`
    is. They may not change what they are given, but for those in `raw`. Raises Unjudged.
    """
    asked = [name for name in judges if given.get(name) is not None]
    if not asked or given.keys() - judges.keys():
        return [ask]
    for name in asked:
        judge, function = judges[name], given[name]
        judge, end = judge if isinstance(judge, tuple) else (judge, "`return`")
        if not callable(function):
            return [f"`{name}` should be a function; it is {type(function).__name__}."]
        if said := judge(function if name in raw else reading(function, name, end)):
            return [said] if isinstance(said, str) else said
    return []
