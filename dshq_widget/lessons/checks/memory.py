"""Whether somebody's window and memory cell are right, and whether a memory designed by hand remembers the lamp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.lessons.checks.slips import first_wrong, hint, same

DONE = "It is right for observations and rounds that were made for this check."

SEEN = np.array([[1.0, 0.5], [2.0, -1.0], [3.0, 0.25], [4.0, 0.0]])
KEPT = np.array([0.8, -0.4, 2.0])
NOW = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]])
WEIGHTS = (np.array([[0.4, -0.3, 1.2], [0.9, 0.2, -0.5]]), np.array([[-1.0, 0.6, -0.2], [0.3, -0.8, 0.7]]))
GLOW, GONGS = 5, range(10, 21)
ENOUGH = 0.95
"""The share of right answers that a design has to reach; a guess has a half."""


def sigmoid(z: NDArray[Any]) -> NDArray[Any]:
    """From 0 to 1."""
    return np.asarray(1 / (1 + np.exp(-np.clip(z, -500, 500))))


def after(weights: NDArray[Any], kept: NDArray[Any], seen: NDArray[Any]) -> NDArray[Any]:
    """The memory after one decision, the reference."""
    x = np.column_stack([seen, np.ones(len(seen))])
    return np.asarray(sigmoid(x @ weights[0]) * kept + np.tanh(x @ weights[1]))


def remembered(weights: NDArray[Any]) -> NDArray[Any]:
    """The memory at each gong, `[2, gongs]`: lamp on the left, on the right."""
    found = np.zeros((2, len(GONGS)))
    for row, side in enumerate((-1.0, 1.0)):
        for column, gong in enumerate(GONGS):
            kept = np.zeros(1)
            for tick in range(gong + 1):
                kept = after(weights, kept, np.array([[side if tick < GLOW else 0.0, float(tick >= gong)]]))
            found[row, column] = kept[0]
    return found


def missing(**given: Any) -> list[str]:
    """What the answers to the three exercises lack, as far as they are given."""
    judges = {"stacked": _stacked, "cell": _cell, "design": _design}
    return first_wrong(given, judges, "Give what you wrote by its name: `check('memory', stacked=stacked)`.")


def window(seen: NDArray[Any], n: int) -> NDArray[Any]:
    """The last n observations, the newest last, zeros before the beginning."""
    padded = np.concatenate([np.zeros((n - 1, seen.shape[1])), seen])
    return np.concatenate([padded[k : k + len(seen)] for k in range(n)], axis=1)


def _stacked(stacked: Callable[..., Any]) -> list[str]:
    for n in (3, 1, 6):
        answer = stacked(SEEN.copy(), n)
        wanted = window(SEEN, n)
        if np.shape(answer) != wanted.shape:
            return [
                f"Four observations of two numbers, the last {n} at each decision, have shape {wanted.shape}; "
                f"got {np.shape(answer)}."
            ]
        backwards = np.concatenate(np.split(wanted, n, axis=1)[::-1], axis=1)
        padded = np.concatenate([np.repeat(SEEN[:1], n - 1, axis=0), SEEN])
        first = np.concatenate([padded[k : k + len(SEEN)] for k in range(n)], axis=1)
        slips = {
            "That is the newest observation several times. The ones before it are wanted.": np.tile(SEEN, (1, n)),
            "The order is turned: the newest observation comes last.": backwards,
            "Before the beginning stands the first observation. It should be zeros.": first,
            "These are the observations that FOLLOW. A player does not know them yet.": window(SEEN[::-1], n)[::-1],
            "It wraps around: the first decision has seen the last one. Before the beginning there are zeros.": (
                np.concatenate([np.roll(SEEN, n - 1 - k, axis=0) for k in range(n)], axis=1)
            ),
        }
        if not same(answer, wanted):
            return hint(answer, slips) or [
                f"With n = {n} the row of the second decision should be {wanted[1].tolist()}; "
                f"it is {np.asarray(answer, float)[1].tolist()}."
            ]
    return []


def _cell(cell: Callable[..., Any]) -> list[str]:
    for weights in WEIGHTS:
        answer = cell(weights, KEPT, NOW)
        if np.shape(answer) != KEPT.shape:
            return [f"Three games have three memories: shape {KEPT.shape}; got {np.shape(answer)}."]
        x = np.column_stack([NOW, np.ones(3)])
        gate, written = sigmoid(x @ weights[0]), np.tanh(x @ weights[1])
        slips = {
            "The old is gone. Add the share of `kept` that the gate lets through.": written,
            "All of the old is kept. Multiply it by the gate, `1 / (1 + np.exp(-x @ keep))`.": KEPT + written,
            "Nothing is written: add `np.tanh(x @ write)`.": gate * KEPT,
            "The gate is a share from 0 to 1: put sigma around `x @ keep`.": (x @ weights[0]) * KEPT + written,
            "The sign in the power is turned: sigma is `1 / (1 + np.exp(-z))`.": (1 - gate) * KEPT + written,
            "The gate is for the old alone. What is written counts in full.": gate * (KEPT + written),
            "What is written shares the gate here; in this cell it counts in full.": gate * KEPT + (1 - gate) * written,
            "The bend is missing: `np.tanh(x @ write)`.": gate * KEPT + x @ weights[1],
            "The old belongs outside of the bend.": np.tanh(gate * KEPT + x @ weights[1]),
            "The rows have changed places: the first is what is kept.": (
                sigmoid(x @ weights[1]) * KEPT + np.tanh(x @ weights[0])
            ),
        }
        if not same(answer, gate * KEPT + written):
            return hint(answer, slips) or [
                f"With {np.round(KEPT, 2).tolist()} kept it should give {np.round(gate * KEPT + written, 3).tolist()}; "
                f"it gives {np.round(np.asarray(answer, float), 3).tolist()}."
            ]
    return []


def _design(design: Callable[..., Any]) -> list[str]:
    answer = design()
    if np.shape(answer) != (2, 3):
        return [f"Two rows of three numbers are wanted: shape (2, 3); got {np.shape(answer)}."]
    weights = np.asarray(answer, float)
    if not np.isfinite(weights).all():
        return ["Weights are finite numbers."]
    kept = remembered(weights)
    right = sigmoid(4 * kept * np.array([[-1.0], [1.0]]))
    if right.mean() >= ENOUGH and right.min() > 0.75:
        return []
    said = f"It is right in {right.mean():.0%} of all rounds"
    early, late = right[:, 0].mean(), right[:, -1].mean()
    if np.abs(weights[1, 0]) < 1e-9:
        return [f"{said}: the lamp writes nothing. Give the lamp a weight in the row `write`."]
    if weights[1, 0] < 0 and right.mean() < 0.5:
        return [f"{said}: it remembers the wrong side. Which sign should the lamp have?"]
    if np.abs(weights[1, 2]) > 0.02 and np.abs(kept[0] - kept[1]).mean() < np.abs(kept.mean()):
        return [f"{said}: something is written in the dark, too, and covers the lamp. What should the 1 write?"]
    if early > late + 0.02:
        return [
            f"{said}, {early:.0%} at the earliest gong and {late:.0%} at the latest: it forgets. "
            "The share that is kept is sigma of the row `keep`: which z gives nearly 1?"
        ]
    if np.abs(weights[1, 1]) > 0.5:
        return [f"{said}: the gong writes, too, just when it counts. What should it write?"]
    return [
        f"{said}; {ENOUGH:.0%} are wanted. At the latest gong the memory is {kept[0, -1]:.2f} after a lamp on the left "
        f"and {kept[1, -1]:.2f} after one on the right: they should be well below and well above 0."
    ]
