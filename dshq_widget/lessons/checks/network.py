"""Whether somebody's loss, slopes, steps and network are those of the textbook (Goodfellow and others, 4.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.lessons.checks.slips import Judges, first_wrong, hint, same

DONE = "It is right for functions and numbers that were made for this check."

X = np.array([-1.0, 0.5, 2.0, 3.5])
Y = np.array([0.3, 1.0, -0.4, 2.0])
LINE = np.array([0.8, -0.5])
UNITS = np.array([[1.2, -0.4, 0.7], [-0.6, 0.9, 1.5], [2.0, 0.1, -0.8]])
LOOSE = 2e-3
"""Measured slopes may be this far off: a nudge to one side is enough."""


def bowl(weights: NDArray[Any]) -> float:
    """A function whose slope in each weight is known: 2 * (k + 1) * (w - 1) for the k-th weight."""
    flat = np.asarray(weights, float).ravel()
    return float(np.sum(np.arange(1, flat.size + 1) * (flat - 1.0) ** 2))


def bowl_slopes(weights: NDArray[Any]) -> NDArray[Any]:
    """The slopes of `bowl`, in the shape of the weights."""
    size = np.arange(1, weights.size + 1).reshape(weights.shape)
    return 2 * size * (weights - 1.0)


def answered(weights: NDArray[Any], x: NDArray[Any]) -> NDArray[Any]:
    """What a network of tanh units says, `[n]`."""
    w, b, v = weights.T
    return np.tanh(np.outer(x, w) + b) @ v


def missing(**given: Any) -> list[str]:
    """What the answers to the four exercises lack, as far as they are given."""
    judges: Judges = {"loss": _loss, "slopes": _slopes, "descend": (_descend, "`return weights`"), "network": _network}
    return first_wrong(given, judges, "Give what you wrote by its name: `check('network', loss=loss)`.")


def _loss(loss: Callable[..., Any]) -> list[str]:
    for line, x, y in ((LINE, X, Y), (np.array([-2.0, 1.5]), X[:3], Y[1:])):
        answer = loss(line.copy(), x.copy(), y.copy())
        if np.shape(answer) != ():
            return [f"The loss is one number; got shape {np.shape(answer)}. Take the mean."]
        w, b = line
        off = w * x + b - y
        slips = {
            "This is the mean of what was measured. Compare with it what the line says, `w * x + b`.": y.mean(),
            "Too much and too little cancel out here. Square each difference first.": off.mean(),
            "This is the sum of the squares. Take the mean.": np.sum(off**2),
            "These are distances. Square them instead of `np.abs`.": np.abs(off).mean(),
            "The root is not wanted: the mean of the squares itself.": np.sqrt(np.mean(off**2)),
            "The mean was squared. Square first, then take the mean.": off.mean() ** 2,
            "`b` is missing: the line says `w * x + b`.": np.mean((w * x - y) ** 2),
            "`w` and `b` have changed places.": np.mean((b * x + w - y) ** 2),
            "The squares are halved. That is usual, too, but here take the whole mean.": np.mean(off**2) / 2,
            "`w` multiplies `x` only: `w * x + b`, without brackets.": np.mean((w * (x + b) - y) ** 2),
        }
        if not same(answer, np.mean(off**2)):
            return hint(answer, slips) or [
                f"For w = {w:g}, b = {b:g}, x = {x.tolist()} and y = {y.tolist()} the loss is {np.mean(off**2):.4f}; "
                f"yours is {float(answer):.4f}."
            ]
    return []


def _slopes(slopes: Callable[..., Any]) -> list[str]:
    for weights in (np.array([0.5, 2.0]), np.array([[0.0, 3.0, 1.0], [-1.0, 0.5, 2.5]])):
        answer = slopes(bowl, weights)
        if np.shape(answer) != weights.shape:
            return [f"There is a slope for each weight: shape {weights.shape}; got {np.shape(answer)}."]
        wanted, size, here = bowl_slopes(weights), 1e-4, bowl(weights)
        slips = {
            "These are losses after a nudge. Take the loss of the opposite nudge off, and divide.": (here + 0 * wanted),
            "The difference was not divided by the distance.": wanted * 2 * size,
            "The slope of a nudge up less a nudge down goes over twice `size`: divide by `2 * size`.": 2 * wanted,
            "Half the slope: a nudge to one side goes over `size` only.": wanted / 2,
            "The sign is turned: the loss after the nudge up, less the loss after the nudge down.": -wanted,
        }
        if not same(answer, wanted, LOOSE):
            rows = np.asarray(answer, float)
            if np.abs(rows).max() < 0.05 and np.abs(wanted).max() > 1:
                return ["The slopes are nearly 0: divide the difference of the losses by the distance of the nudge."]
            if np.abs(rows).max() > 500:
                return ["The loss itself is divided by the nudge. First take the loss of the opposite nudge off."]
            return hint(answer, slips, 2 * LOOSE) or [
                f"For a function of the weights {weights.tolist()} it should give {np.round(wanted, 2).tolist()}; "
                f"it gives {np.round(rows, 2).tolist()}. Nudge ONE weight at a time."
            ]
    rough = slopes(lambda weights: float(np.sum(weights**3)), np.array([2.0]), 0.5)
    if not (same(rough, [12.25]) or same(rough, [15.25]) or same(rough, [9.25])):
        return ["With another `size` it is wrong: use the argument, for the nudge and for the division."]
    return []


def _descend(descend: Callable[..., Any]) -> list[str]:
    for start, rate, steps in (
        (np.array([3.0, -1.0]), 0.1, 1),
        (np.array([3.0, -1.0]), 0.05, 7),
        (np.array([[0.0, 2.0]]), 0.02, 4),
    ):
        wanted = start.copy()
        for _ in range(steps):
            wanted = wanted - rate * bowl_slopes(wanted)
        answer = descend(bowl, start, rate, steps)
        if np.shape(answer) != start.shape:
            return [f"Weights of shape {start.shape} go in and come out; got shape {np.shape(answer)}."]
        once, slope = start - rate * bowl_slopes(start), bowl_slopes(start)
        slips = {
            "The weights have not moved. Take `rate * slopes(function, weights)` off.": start,
            "The step goes up the slope. Take it off instead of adding it.": start + rate * slope,
            "The `rate` is missing: a step is `rate` times the slope.": start - slope,
            "The slopes are all of the beginning. Measure them again before each step.": start - steps * rate * slope,
        }
        if not same(answer, wanted, LOOSE):
            if steps > 1 and same(answer, once, LOOSE):
                return ["That is one step. Repeat it `steps` times, each from where the last one ended."]
            return hint(answer, slips, LOOSE) or [
                f"From {start.tolist()}, with rate {rate:g}, {steps} step{'s' * (steps > 1)} should lead to "
                f"{np.round(wanted, 3).tolist()}; yours lead to {np.round(np.asarray(answer, float), 3).tolist()}."
            ]
    if not same(descend(bowl, LINE.copy(), 0.1, 0), LINE):
        return ["Without a step, `steps = 0`, the weights stay as they are."]
    return []


def _network(network: Callable[..., Any]) -> list[str]:
    for weights, x in ((UNITS, X), (UNITS[:2], X[:3])):
        try:
            answer = network(weights.copy(), x.copy())
        except ValueError as error:
            return [f"Shapes do not fit: {error}. `np.outer(x, w)` is a row for each place, a column for each unit."]
        w, b, v = weights.T
        inner = np.outer(x, w) + b
        if np.shape(answer) == inner.shape and len(x) != len(w):
            return ["These are the units one by one. Add them up for each place: `@ v` does both."]
        if np.shape(answer) != x.shape:
            return [f"A network gives one number for each place: shape {x.shape}; got shape {np.shape(answer)}."]
        slips = {
            "There is no bend in it: `np.tanh`.": inner @ v,
            "Still a line: each unit is `v * np.tanh(w * x + b)`, and they are added up.": w.sum() * x + b.sum(),
            "All units count alike here. Each counts `v`.": np.tanh(inner).sum(1),
            "`b` is missing inside the bend.": np.tanh(np.outer(x, w)) @ v,
            "`b` is inside the bend: add it before `np.tanh`.": np.tanh(np.outer(x, w)) @ v + b.sum(),
            "`v` multiplies outside the bend.": np.tanh(inner * v).sum(1),
            "One bend around the whole sum: each unit bends by itself.": np.tanh(inner @ v),
            "The mean was taken. Add the units up.": np.tanh(inner) @ v / len(v),
            "The weights were added up before the bend: each unit has its own w and b.": (
                v.sum() * np.tanh(w.sum() * x + b.sum())
            ),
            "`w` and `v` have changed places: the columns are w, b and v.": np.tanh(np.outer(x, v) + b) @ w,
        }
        if not same(answer, answered(weights, x)):
            return hint(answer, slips) or [
                f"For the units {weights.tolist()} and the places {x.tolist()} it should give "
                f"{np.round(answered(weights, x), 3).tolist()}."
            ]
    return []
