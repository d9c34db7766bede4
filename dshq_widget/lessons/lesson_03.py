"""Lesson 03: payments by a potential, which no detour can make larger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

DONE = (
    "your payments show a beginner the way, and going in circles earns nothing: over a round they add up to the "
    "two ends alone."
)

GAMMA = 0.9
CIRCLE = (-1.0, -0.4, -0.1, -0.4, -1.0)
"""Potentials on a way to the ball and back again."""
PLACES = (-1.0, -0.5, -0.7, -0.2)


def missing(payments: Callable[[NDArray, float], Any]) -> list[str]:
    """What the function still gets wrong, the first thing only."""
    if not callable(payments):
        return [f"Give the function itself, `check('03', payments)`; this is {type(payments).__name__}."]
    paid = np.asarray(payments(np.array(PLACES), GAMMA), float)
    phi = np.array(PLACES)
    wanted = GAMMA * phi[1:] - phi[:-1]
    if paid.shape != wanted.shape:
        return [f"{len(PLACES)} potentials are {len(wanted)} decisions, so {len(wanted)} payments; got {paid.shape}."]
    circle = np.asarray(payments(np.array(CIRCLE), 1.0), float).sum()
    if abs(circle) > 1e-9:
        return [
            f"With gamma = 1, somebody who runs to the ball and back, potentials {list(CIRCLE)}, earns {circle:+.2f} "
            "and stands where he stood. Pay for the change from one potential to the next."
        ]
    if np.allclose(paid, -wanted):
        return ["The change is right but points the other way: what comes after, less what was before."]
    if not np.allclose(paid, wanted):
        total = float(np.sum(GAMMA ** np.arange(len(paid)) * paid))
        ends = GAMMA ** len(paid) * PLACES[-1] - PLACES[0]
        return [
            f"With gamma = {GAMMA} the payments of the potentials {list(PLACES)}, discounted to the beginning, add up "
            f"to {total:.4f}; only the two ends should remain, {ends:.4f}. Which of the two potentials comes one "
            "decision later, and so has to be discounted?"
        ]
    return []
