"""Whether somebody's softmax, slope and policy gradients are those of REINFORCE (Williams, 1992)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.lessons.checks.slips import first_wrong, hint, runs_away, same, unlike

DONE = "It is right for scores, plays and payments that were drawn for this check."

SCORES = np.array([0.3, -1.1, 0.8, 0.0])
ACTIONS = np.array([0, 2, 2, 1, 3, 0, 2])
REWARDS = np.array([1.0, 3.0, 2.5, -1.0, 0.5, 2.0, 4.0])
BASELINE = 1.5


def probabilities(scores: NDArray[Any]) -> NDArray[Any]:
    """The softmax along the last axis."""
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def gradient(
    weights: NDArray[Any], seen: NDArray[Any], actions: NDArray[Any], rewards: NDArray[Any], baseline: float
) -> NDArray[Any]:
    """The policy gradient `[numbers, actions]` of scores `seen @ weights`."""
    arrows = np.eye(weights.shape[1])[actions] - probabilities(seen @ weights)
    return seen.T @ (arrows * (rewards - baseline)[:, None]) / len(seen)


def missing(**given: Any) -> list[str]:
    """What the answers to the four exercises lack, as far as they are given."""
    judges = {
        "softmax": _softmax,
        "log_slope": _log_slope,
        "policy_gradient": _policy_gradient,
        "seeing_gradient": _seeing_gradient,
    }
    return first_wrong(given, judges, "Give what you wrote by its name: `check('policy-gradient', softmax=softmax)`.")


def _softmax(softmax: Callable[..., Any]) -> list[str]:
    with np.errstate(all="ignore"):
        answer = softmax(SCORES.copy())
        if found := unlike(answer, SCORES.shape, "softmax"):
            return found
        powers, wanted = np.exp(SCORES), probabilities(SCORES)
        slips = {
            "These are the powers themselves. Divide them by their sum.": powers,
            "Less the largest is right. Now divide the powers by their sum.": np.exp(SCORES - SCORES.max()),
            "All are alike, whatever the scores. Take `np.exp` of them, and divide by the sum.": np.full(4, 0.25),
            "Scores may be below zero. Take `np.exp` of them before you divide.": SCORES / SCORES.sum(),
            "The signs are turned: a larger score has to be likelier.": probabilities(-SCORES),
            "These are logarithms. The probabilities themselves are wanted.": np.log(wanted),
            "The largest is divided by, not the sum: the numbers do not add up to 1.": powers / powers.max(),
            "The powers are of 2. They are of e: `np.exp`.": probabilities(SCORES * np.log(2)),
        }
        if not same(answer, wanted):
            return hint(answer, slips) or [f"For the scores {SCORES.tolist()} it should give {_shown(wanted)}."]
        large = np.array([1000.0, 999.0])
        if runs_away(softmax, large) or not same(softmax(large), probabilities(large)):
            return ["Right for small scores. For 1000 and 999 it is not: take the largest from all scores first."]
        rows = np.stack([SCORES, SCORES[::-1], 3 * SCORES])
        try:
            right = same(softmax(rows), probabilities(rows))
        except (TypeError, ValueError):  # shapes that do not fit, or a row where `math` takes a number
            right = False
        if not right:
            return ["Right for one row of scores, wrong for three at once: `.sum(-1, keepdims=True)`, `.max` as well."]
        return []


def _log_slope(log_slope: Callable[..., Any]) -> list[str]:
    for action in (2, 0):
        answer, chances = log_slope(SCORES.copy(), action), probabilities(SCORES)
        if found := unlike(answer, SCORES.shape, "log_slope"):
            return found
        one = np.eye(len(SCORES))[action]
        slips = {
            "The played action is right only if the others were impossible: take all probabilities off.": one,
            "These are only the probabilities. The played action has 1 more, and the others lose theirs.": chances,
            "The others go down by their probability; here nothing was added for the played one.": -chances,
            "The signs are turned: this makes the action less likely.": chances - one,
            "This is the slope of the probability, not of its logarithm: do not multiply by it.": (
                chances[action] * (one - chances)
            ),
            "The scores were taken off. Take off the probabilities: `softmax(scores)`.": one - SCORES,
            "Only the played action moves here. The others go down.": one * (1 - chances),
            "Each action is treated as if it had been played: 1 belongs to the played one only.": 1 - chances,
        }
        if not same(answer, one - chances):
            return hint(answer, slips) or [f"For action {action} it should give {_shown(one - chances)}."]
    return []


def _policy_gradient(policy_gradient: Callable[..., Any]) -> list[str]:
    answer = policy_gradient(SCORES.copy(), ACTIONS.copy(), REWARDS.copy(), BASELINE)
    if found := unlike(answer, SCORES.shape, "policy_gradient"):
        return found
    arrows = np.eye(len(SCORES))[ACTIONS] - probabilities(SCORES)
    wanted = np.mean(arrows * (REWARDS - BASELINE)[:, None], axis=0)
    slips = {
        "Every play counts alike here. Weigh each slope by its reward less the baseline.": arrows.mean(0),
        "The baseline is missing: `rewards - baseline`.": np.mean(arrows * REWARDS[:, None], axis=0),
        "The baseline is added; it has to be taken off.": np.mean(arrows * (REWARDS + BASELINE)[:, None], axis=0),
        "The sign is turned: this way what paid well becomes less likely.": -wanted,
        "This is the sum. Take the mean over the plays.": wanted * len(ACTIONS),
        "The mean slope and the mean payment are multiplied. Multiply play by play, then take the mean.": (
            arrows.mean(0) * (REWARDS - BASELINE).mean()
        ),
        "Only the last play counts here.": arrows[-1] * (REWARDS[-1] - BASELINE),
        "The weights are divided by their sum. Divide by the number of plays.": (
            np.sum(arrows * (REWARDS - BASELINE)[:, None], axis=0) / (REWARDS - BASELINE).sum()
        ),
        "The mean is taken off as well. Take off the baseline that is given.": (
            np.mean(arrows * (REWARDS - REWARDS.mean())[:, None], axis=0)
        ),
        "A play that paid less than the baseline counts as well: let its weight be below zero.": (
            np.mean(arrows * np.maximum(REWARDS - BASELINE, 0)[:, None], axis=0)
        ),
    }
    if not same(answer, wanted):
        return hint(answer, slips) or [f"For seven plays it should give {_shown(wanted)}, not {_shown(answer)}."]
    each = REWARDS * 0.5  # a baseline for each play
    wanted = np.mean(arrows * (REWARDS - each)[:, None], axis=0)
    try:
        right = same(policy_gradient(SCORES.copy(), ACTIONS.copy(), REWARDS.copy(), each), wanted)
    except (TypeError, ValueError):  # shapes that do not fit
        right = False
    if not right:
        return ["Right with one number as baseline. With a number for each play it is not: use `rewards - baseline`."]
    return []


def _seeing_gradient(seeing_gradient: Callable[..., Any]) -> list[str]:
    rng = np.random.default_rng(3)
    weights, seen = rng.normal(0, 0.7, (2, 3)), rng.normal(0, 1, (9, 2))
    actions, rewards = rng.integers(0, 3, 9), rng.normal(1, 1, 9)
    try:
        answer = seeing_gradient(weights, seen, actions, rewards, 0.4)
    except ValueError as error:
        return [
            f"Shapes do not fit: {error}. There is an arrow `[actions]` for each game and one reward for each game: "
            "make the rewards a column with `[:, None]`."
        ]
    if found := unlike(answer, weights.shape, "seeing_gradient"):
        return found
    wanted, played = gradient(weights, seen, actions, rewards, 0.4), np.eye(3)[actions]
    arrows, less = played - probabilities(seen @ weights), (rewards - 0.4)[:, None]
    slips = {
        "It is still zero: `seen.T @ arrows`, and the arrows weighed by reward less baseline.": 0 * wanted,
        "This is the sum over the games. Divide by their number.": wanted * len(seen),
        "The baseline is missing.": gradient(weights, seen, actions, rewards, 0.0),
        "The rewards are missing: weigh each arrow by its reward less the baseline.": seen.T @ arrows / len(seen),
        "The probabilities are missing: an arrow is `played - softmax(scores)`.": seen.T @ (played * less) / len(seen),
        "The sign is turned.": -wanted,
        "The played action is missing: an arrow is `played - softmax(scores)`.": (
            seen.T @ ((arrows - played) * less) / len(seen)
        ),
        "The probabilities do not look: `softmax(seen @ weights)`, for each game its own.": (
            seen.T @ ((played - 1 / 3) * less) / len(seen)
        ),
        "This divides by the games and by the numbers seen. Divide by the games only.": wanted / 2,
        "It is already multiplied by the weights. Return the gradient alone.": wanted * weights,
        "This is the gradient added to the weights. Return the gradient alone.": wanted + weights,
        "The scores were taken off instead of their softmax.": seen.T @ ((played - seen @ weights) * less) / len(seen),
    }
    if not same(answer, wanted):
        return hint(answer, slips) or [f"For nine games it should give {_shown(wanted)}, not {_shown(answer)}."]
    return []


def _shown(numbers: Any) -> list[Any]:
    return np.round(np.asarray(numbers, float), 3).tolist()
