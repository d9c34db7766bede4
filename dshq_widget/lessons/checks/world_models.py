"""Lesson world-models: a linear model fitted to what was watched, dreams in it, and a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.lessons.checks.slips import first_wrong

DONE = "your model answers for the game: it is fitted to what was seen, and dreams start from its own answers."

TRUE = np.array(
    [
        [1.0, 0.0, 0.0, 0.0],
        [0.02, 1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 0.0, 0.3, 1.0],
        [0.0, 0.07, 0.0, -0.1],
        [0.0, 0.0, 0.01, 0.0],
    ]
)
"""A world that is linear, to be found again."""


def missing(inputs: Any = None, fit: Any = None, **given: Any) -> list[str]:
    """What the functions that are given still get wrong, the first thing only."""
    judges = {
        "inputs": (_inputs, "`return` and the columns"),
        "fit": (_fit, "`return` and the model"),
        "dream": (_dream, "`return` and the path"),
        "standing": (_standing, "`return` and a number for each future"),
        "plan": (_plan, "`return` and the push"),
    }
    ask = "Give the functions by their names, such as `check('world-models', inputs=inputs, fit=fit)`."
    return first_wrong({"inputs": inputs, "fit": fit, **given}, judges, ask)


def columns(seen: NDArray[Any], actions: NDArray[Any]) -> NDArray[Any]:
    """The reference inputs, `[n, 6]`."""
    return np.column_stack([seen, 2.0 * np.asarray(actions) - 1, np.ones(len(seen))])


def world(n: int, seed: int = 0, noise: float = 0.0) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """What was seen and done in TRUE, and what came of it, with noise."""
    rng = np.random.default_rng(seed)
    seen, actions = rng.normal(size=(n, 4)), rng.integers(2, size=n)
    return seen, actions, columns(seen, actions) @ TRUE + noise * rng.normal(size=(n, 4))


def dreamt(model: NDArray[Any], start: NDArray[Any], plans: NDArray[Any]) -> NDArray[Any]:
    """The reference dream, `[decisions, futures, 4]`."""
    now, path = np.repeat(start[None], len(plans), 0), []
    for actions in plans.T:
        now = columns(now, actions) @ model
        path.append(now)
    return np.array(path)


def _inputs(inputs: Callable[..., Any]) -> str | None:
    seen, actions, _ = world(5)
    answer = inputs(seen.copy(), actions.copy())
    answer, wanted = np.asarray(answer, float), columns(seen, actions)
    if answer.shape != wanted.shape:
        return (
            f"Five decisions are an array of shape (5, 6); got {answer.shape}. `np.column_stack` puts columns together."
        )
    if np.allclose(answer, wanted):
        return None
    if np.allclose(answer, 0):
        return "All columns are 0: put the observations, the push and a 1 there."
    if not np.allclose(answer[:, :4], seen):
        return "The first four columns are the observations as they are."
    if np.allclose(answer[:, 4], actions):
        return "The push should be -1 or +1; yours is 0 or 1. `2 * actions - 1` makes one of the other."
    if np.allclose(answer[:, 4], -wanted[:, 4]):
        return "A push to the left is -1; yours has the other sign."
    if np.allclose(answer[:, 5], actions * 2 - 1):
        return "The push comes before the constant 1."
    return "The fifth column is the push, -1 or +1, and the sixth is 1 everywhere."


def _fit(fit: Callable[..., Any]) -> str | None:
    seen, actions, after = world(40)
    answer = fit(seen.copy(), actions.copy(), after.copy())
    if isinstance(answer, tuple):
        return "`np.linalg.lstsq` returns four things; the model is the first of them."
    answer = np.asarray(answer, float)
    if answer.shape != (6, 4):
        return f"The model has six rows and four columns; got {answer.shape}. What goes in is `inputs(seen, actions)`."
    if np.allclose(answer, np.eye(6, 4)):
        return "This model believes that nothing ever changes. Find the weights with the least squared error."
    if np.allclose(answer, TRUE - np.eye(6, 4), atol=1e-6):
        return "This model predicts the change. Let it predict what is observed next."
    if not np.allclose(answer, TRUE, atol=1e-4):
        off = np.abs(columns(seen, actions) @ answer - after).mean()
        return f"Of a world that is linear the fit should be exact; your model is off by {off:.3f} on what it has seen."
    for made in (world(30, 1, 0.3), world(200, 2, 0.3)):
        wanted = np.linalg.lstsq(columns(*made[:2]), made[2], rcond=None)[0]
        if not np.allclose(np.asarray(fit(*(part.copy() for part in made)), float), wanted, atol=1e-3):
            return "It is right where the world is exact, and wrong where it is noisy: use all that was watched."
    seen, pushed = world(40)[0], np.ones(40, int)
    after = columns(seen, pushed) @ TRUE
    try:
        predicted = columns(seen, pushed) @ np.asarray(fit(seen, pushed, after), float)
    except np.linalg.LinAlgError:
        predicted = np.full(after.shape, np.nan)
    if not np.allclose(predicted, after, atol=1e-4):
        return (
            "Where all pushes go one way, the push and the constant 1 are the same column, and yours finds no model: "
            "`np.linalg.lstsq` does, and the lesson will try that."
        )
    return None


def _dream(dream: Callable[..., Any]) -> str | None:
    start, plans = np.array([0.1, -0.2, 0.3, 0.05]), np.random.default_rng(4).integers(2, size=(3, 6))
    answer = dream(TRUE.copy(), start, plans.copy())
    answer, wanted = np.asarray(answer, float), dreamt(TRUE, start, plans)
    if answer.shape == (3, 6, 4) and np.allclose(answer.swapaxes(0, 1), wanted):
        return "Right, but decisions come first: shape (decisions, futures, 4)."
    if answer.shape == (7, 3, 4) and np.allclose(answer[1:], wanted):
        return "Leave the start out: the path begins with what comes after the first push."
    if answer.shape != wanted.shape:
        return f"Three plans of six decisions give shape (6, 3, 4); got {answer.shape}."
    if np.allclose(answer, wanted):
        return None
    once = np.array([columns(np.repeat(start[None], 3, 0), actions) @ TRUE for actions in plans.T])
    if np.allclose(answer, once):
        return "Every decision begins at the start. Let each begin where the one before has ended."
    if np.allclose(answer[0], wanted[0]):
        return (
            "The first decision is right and the later ones are not: feed the model its own answer, and the next push."
        )
    if np.allclose(answer[-1], wanted[0]):
        return "The pushes come in the wrong order."
    return "Even the first decision is wrong: `inputs(now, actions) @ model`."


def falls() -> tuple[NDArray[Any], NDArray[Any]]:
    """Dreams `[5, 6, 4]`, and how long the pole stands in each."""
    path = np.zeros((5, 6, 4))
    path[2:, 1, 2] = 1.3  # falls at the third decision
    path[3, 2, 0] = -1.2  # leaves the track, and comes back
    path[:, 3, 1], path[:, 3, 3] = 1.7, -3.0  # only fast
    path[0, 4, 2] = -2.0
    path[4, 5, 2] = 1.0
    return path, np.array([5, 2, 3, 5, 0, 4])


def _standing(standing: Callable[..., Any]) -> str | None:
    path, wanted = falls()
    answer = standing(path.copy())
    answer = np.asarray(answer, float)
    if answer.shape != wanted.shape:
        return f"Six dreams are six numbers; got shape {answer.shape}."
    if np.allclose(answer, wanted):
        shorter = np.asarray(standing(path[:4, 3::-1].copy()), float)
        if shorter.shape == (4,) and np.allclose(shorter, np.minimum(wanted[3::-1], 4)):
            return None
        return "Right for six dreams of 5 decisions, wrong for four of 4: is a number written into it?"
    if np.allclose(answer, len(path)):
        return "In yours no pole ever falls."
    if answer[0] != 5:
        return f"A pole that never leaves the middle stands for all 5 decisions; yours for {answer[0]:g}."
    if answer[3] != 5:
        return "Speed is no fall: look at the position (number 0) and the angle (number 2) only."
    if answer[2] == 4:
        return "What has fallen stays fallen, also if the dream continues and comes back."
    if answer[2] == 5:
        return "A cart that is beyond -1 has left its track as well: use the absolute value, and look at number 0, too."
    if answer[4] == 5:
        return "A pole that falls to the left has fallen, too: use the absolute value."
    if np.allclose(answer, np.where(wanted < 5, wanted + 1, wanted)):
        return "One too many: the decision with which it falls does not count."
    if answer[5] == 5:
        return "An angle of exactly 1 is a fall."
    return f"The dreams should stand for {wanted.tolist()} decisions; yours for {answer.tolist()}."


def _plan(plan: Callable[..., Any]) -> str | None:
    rng = np.random.default_rng(7)
    cases = ((np.array([0.0, 0.0, 0.3, 0.5]), 1), (np.array([0.0, 0.0, -0.3, -0.5]), 0))
    for observed, wanted in cases:
        found = [plan(TRUE, observed.copy(), rng) for _ in range(30)]
        if any(np.shape(answer) != () or answer not in (0, 1) for answer in found):
            return f"A plan's answer is one push, 0 or 1; got {found[0]!r:.60}."
        right = sum(int(answer) == wanted for answer in found)
        side = "right" if wanted else "left"
        if right < 8:
            return f"A pole that falls to the {side} needs a push to the {side}; your plan pushes away from it."
        if right < 26:
            return (
                f"A pole that falls to the {side} needs a push to the {side}; your plan does so {right} times of 30. "
                "Compare the means of `standing` of the plans that begin with 0 and with 1."
            )
    leaning = np.array([0.0, 0.0, 0.15, 0.1])
    if sum(int(plan(TRUE, leaning, rng)) for _ in range(30)) < 26:
        return (
            "A pole that leans a little stands in many dreams of both pushes, and one of them alone is luck. Compare "
            "the means of `standing` of the plans that begin with 0 and with 1."
        )
    late = np.array([0.0, 0.0, 0.86, 0.2])  # falls at the second decision, unless the first push is to the right
    if sum(int(plan(TRUE, late.copy(), rng, 64, 2)) for _ in range(30)) < 26:
        return "The push that is made is the first of each plan: compare plans by that one, `plans[:, 0]`."
    mirrored = TRUE.copy()
    mirrored[4] *= -1
    if sum(int(plan(mirrored, cases[0][0].copy(), rng)) for _ in range(30)) > 8:
        return "In a world where pushes work the other way your plan still does the same: it has to use the model."
    one = {int(plan(TRUE, np.zeros(4), rng, 1, 5)) for _ in range(40)}
    if one != {0, 1}:
        return (
            "With one future alone, take the push that this one begins with: the other has nothing to be compared with."
        )
    return None
