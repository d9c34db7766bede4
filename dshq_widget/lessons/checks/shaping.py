"""Payments by a potential, which no detour can make larger."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.lessons.checks.slips import reading

DONE = (
    "your payments show a beginner the way, and going in circles earns nothing: over a round they add up to the "
    "two ends alone."
)

GAMMA = 0.9
CIRCLE = (-1.0, -0.4, -0.1, -0.4, -1.0)
"""Potentials on a way to the ball and back again."""
PLACES = (-1.0, -0.5, -0.7, -0.2)


def missing(payments: Callable[[NDArray[Any], float], Any]) -> list[str]:
    """What the function still gets wrong, the first thing only."""
    if not callable(payments):
        return [f"Give the function itself, `check('shaping', payments)`; this is {type(payments).__name__}."]
    payments = reading(payments, "payments")
    phi = np.array(PLACES)
    paid = np.asarray(payments(phi.copy(), GAMMA))
    if paid.shape != (len(phi) - 1,):
        decisions = len(phi) - 1
        return [f"{len(phi)} potentials are {decisions} decisions, so {decisions} payments; got shape {paid.shape}."]
    if paid.dtype.kind not in "fiu" or not np.isfinite(paid).all():
        return [f"Payments are numbers; got {paid.tolist()}."]
    trials = [(phi, GAMMA), (np.array(CIRCLE), 1.0), (np.array(CIRCLE) + 3, 0.5)]
    given = [np.asarray(payments(potentials.copy(), gamma), float) for potentials, gamma in trials]
    for keep in (True, False):
        if all(np.allclose(mine, reference(*trial, keep)) for mine, trial in zip(given, trials, strict=True)):
            return []
    if np.allclose(paid, -reference(phi, GAMMA)):
        return ["The change is right but points the other way: what comes after, less what was before."]
    if np.allclose(paid, reference(phi, GAMMA)):
        return [f"Right for gamma = {GAMMA}, wrong for another gamma or other potentials: is one written into it?"]
    circle = given[1].sum()
    if abs(circle) > 1e-9:
        return [
            f"With gamma = 1, somebody who runs to the ball and back, potentials {list(CIRCLE)}, earns {circle:+.2f} "
            "and stands where he stood. Pay for the change from one potential to the next."
        ]
    total = float(np.sum(GAMMA ** np.arange(len(paid)) * paid))
    ends = GAMMA ** len(paid) * PLACES[-1] - PLACES[0]
    return [
        f"With gamma = {GAMMA} the payments of the potentials {list(PLACES)}, discounted to the beginning, add up "
        f"to {total:.4f}; only the two ends should remain, {ends:.4f}. Which of the two potentials comes one "
        "decision later, and so has to be discounted?"
    ]


def reference(phi: NDArray[Any], gamma: float, keep: bool = True) -> NDArray[Any]:
    """Payments f64 `[decisions]` of potentials `[decisions + 1]`; the last one is kept, or counts as 0 (Ng, Harada and
    Russell, 1999).
    """
    after = phi[1:].astype(float)
    after[-1] *= keep
    return gamma * after - phi[:-1]
