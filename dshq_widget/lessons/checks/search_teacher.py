"""Lesson search-teacher: what search advises, and a policy that learns to say the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.lessons.checks.slips import first_wrong

DONE = "this is how a policy learns from search: the weights of futures are its targets."
CLOSE = 1e-6
"""How far one number may be off: single precision is fine."""


def missing(**given: Any) -> list[str]:
    """What the functions that are given still get wrong, the first thing only."""
    judges = {"target": (_target, "`return` and the number"), "learned": (_learned, "`return` and the new numbers")}
    return first_wrong(given, judges, "Give both functions: `check('search-teacher', target=target, learned=learned)`.")


def _target(target: Callable[..., Any]) -> str | None:
    for first, shares in (
        (np.array([0, 1, 1, 0]), np.array([0.1, 0.2, 0.4, 0.3])),
        (np.array([1, 1, 1]), np.array([0.2, 0.3, 0.5])),
        (np.array([0, 0]), np.array([0.5, 0.5])),
    ):
        answer, wanted = target(first.copy(), shares.copy()), shares[first == 1].sum()
        if np.shape(answer) != ():
            return f"`target` gives one number, the weight behind action 1; got shape {np.shape(answer)}."
        if abs(float(answer) - wanted) < CLOSE:
            continue
        if abs(float(answer) - shares[first == 0].sum()) < CLOSE:
            return "That is the weight behind action 0; give that behind action 1."
        if abs(float(answer) - np.mean(first)) < CLOSE:
            return "That counts the futures. Add up their weights."
        return (
            f"Futures that begin with {first.tolist()} and weigh {shares.tolist()} give {wanted:.2f}; yours gives "
            f"{float(answer):.2f}."
        )
    return None


def _learned(learned: Callable[..., Any]) -> str | None:
    rng = np.random.default_rng(2)
    seen, targets, w = rng.normal(size=(6, 4)), rng.random(6), np.array([0.3, -0.5, 0.1, 0.8])
    kept = w.copy()
    answer = learned(w, seen.copy(), targets.copy(), 0.5)
    answer = np.asarray(answer, float)
    if answer.shape != (4,):
        return f"Four numbers go in and four come out; got shape {answer.shape}."
    gradient = slope(kept, seen, targets)
    if np.allclose(answer, kept - 0.5 * gradient):
        if np.allclose(learned(kept.copy(), seen, targets), kept - gradient):
            return None
        return "Without a `rate` it should be 1."
    if np.allclose(answer, kept):
        return "The numbers stay as they are. Take a step against the gradient."
    if np.allclose(answer, kept + 0.5 * gradient):
        return "That is a step up the gradient: the policy would come to say the opposite of what search says."
    if np.allclose(answer, kept - 0.5 * len(seen) * gradient):
        return "That is the sum over the decisions; take the mean, or the step grows with their number."
    if np.allclose(answer, kept - gradient):
        return "The `rate` changes nothing."
    return (
        f"From {kept.tolist()} with rate 0.5 it should come to {np.round(kept - 0.5 * gradient, 3).tolist()}; yours "
        f"comes to {np.round(answer, 3).tolist()}. The probability is 1 / (1 + exp(-(seen @ w)))."
    )


def slope(w: NDArray[Any], seen: NDArray[Any], targets: NDArray[Any]) -> NDArray[Any]:
    """The gradient of the mean cross entropy of p = sigmoid(seen @ w) with the targets, `[4]`."""
    return ((1 / (1 + np.exp(-(seen @ w))) - targets)[:, None] * seen).mean(0)
