"""Lesson exploration: noise, a bonus for what was tried little, and an entropy bonus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.lessons.checks.slips import first_wrong, runs_away

DONE = "your learner tries what it does not know yet, and it can stop trying."

CLOSE = 1e-6
"""How far one number may be off: single precision is fine."""
TRIES = 3000
"""Draws behind each share; a share of 0.25 is then known to about 0.02."""


def missing(choose: Any = None, **given: Any) -> list[str]:
    """What the functions that are given still get wrong, the first thing only."""
    judges = {
        "choose": (_choose, "`return` and the action"),
        "bonus": (_bonus, "`return` and the bonuses"),
        "promise": (_promise, None),
        "entropy": (_entropy, "`return` and the number"),
        "stepped": (_stepped, "`return` and the new scores"),
    }
    ask = "Give the functions by their names, such as `check('exploration', choose=choose)`."
    return first_wrong({"choose": choose, **given}, judges, ask)


def shares(choose: Callable[..., Any], values: NDArray[Any], epsilon: float) -> NDArray[Any] | str:
    """How often each action is chosen, or what is wrong with an answer."""
    rng, counts = np.random.default_rng(11), np.zeros(len(values))
    for _ in range(TRIES):
        action = choose(values.copy(), epsilon, rng)
        if np.shape(action) != () or action != int(action) or not 0 <= action < len(values):
            return f"An action is a number from 0 to {len(values) - 1}; got {action!r:.60}."
        counts[int(action)] += 1
    return counts / TRIES


def _choose(choose: Callable[..., Any]) -> str | None:
    for values, epsilon in (
        (np.array([0.1, 0.5, 0.3, 0.2]), 0.0),
        (np.array([0.1, 0.5, 0.3, 0.2]), 1.0),
        (np.array([0.1, 0.5, 0.3, 0.2]), 0.4),
        (np.array([0.5, 0.1, 0.5]), 0.0),
        (np.zeros(3), 0.0),
        (np.array([-2.0, -1.0]), 0.2),
    ):
        found = shares(choose, values, epsilon)
        if isinstance(found, str):
            return found
        best = values == values.max()
        wanted = epsilon / len(values) + (1 - epsilon) * best / best.sum()
        if np.abs(found - wanted).max() < 0.035:
            continue
        what = f"With values {values.tolist()} and epsilon {epsilon:g}"
        if epsilon == 0 and best.sum() > 1 and found.max() > 0.97:
            return (
                f"{what} you always take action {found.argmax()}. Of equals take any: `np.flatnonzero` finds them all."
            )
        if epsilon == 0 and found.max() > 0.97:
            return f"{what} the best action is number {values.argmax()}; you take number {found.argmax()}."
        if epsilon == 0:
            return f"{what} nothing is left to chance but the choice of equals; you explore all the same."
        if found[values.argmax()] > 0.97:
            return f"{what} you never explore: compare `rng.random()` with epsilon."
        if np.abs(found - (1 - epsilon) / len(values) - epsilon * best / best.sum()).max() < 0.035:
            return f"{what} you explore in {1 - epsilon:.0%} of the cases: epsilon is the share of exploring."
        if epsilon < 1 and np.abs(found - 1 / len(values)).max() < 0.035:
            return f"{what} you take any action. It should be the best one in most cases."
        said = f"{what} the actions should come in shares of {wanted.round(2).tolist()}; yours come in "
        return f"{said}{found.round(2).tolist()}. To explore is to take any action, the best one as well."
    return None


def _bonus(bonus: Callable[..., Any]) -> str | None:
    counts = np.array([0.0, 1.0, 3.0, 9.0])
    with np.errstate(all="ignore"):
        answer = bonus(counts, 2.0)
    answer, wanted = np.asarray(answer, float), 2.0 / (counts + 1)
    if answer.shape != wanted.shape:
        return f"Four counts give four bonuses; got shape {answer.shape}."
    if np.allclose(answer, wanted):
        if np.allclose(bonus(counts, 0.5), 0.5 / (counts + 1)):
            return None
        return "Right for a size of 2, wrong for a size of 0.5: is it written into it?"
    if not np.isfinite(answer).all():
        return "What was never tried has a count of 0: divide by the count plus 1."
    if np.allclose(answer, 0):
        return "No bonus at all: promise more for what was tried less."
    if np.allclose(answer, 2.0 / np.sqrt(counts + 1)):
        return "A fair idea, with the root; the corridor needs one that fades sooner: size / (n + 1)."
    if np.allclose(answer, 1.0 / (counts + 1)):
        return "The size is missing: for what was never tried the bonus is `size`."
    if (np.diff(answer) > 0).any():
        return "Yours grows with the count. What was tried more should be promised less."
    return f"Counts {counts.tolist()} and size 2 should give {wanted.tolist()}; yours gives {answer.round(3).tolist()}."


def _promise(promise: Callable[..., Any]) -> str | None:
    values, counts = np.array([0.5, 0.2]), np.array([9.0, 0.0])
    answer = promise(0.1, values.copy(), counts.copy(), 1.0, 0.9, False)
    if answer is None:
        return "`promise` returns nothing: end it with `return` and the number."
    if np.shape(answer) != ():
        return f"`promise` gives one number; got shape {np.shape(answer)}."
    wanted, end = 0.1 + 0.9 * 1.2, promise(0.1, values.copy(), counts.copy(), 1.0, 0.9, True)
    answer = float(answer)
    if end is None:
        return "Where `over` is true `promise` returns nothing: nothing follows the end, but what was paid counts."
    if abs(answer - 0.1) < CLOSE:
        return "That is the pay alone. The next room promises something as well: add gamma times its best."
    if abs(answer - (0.1 + 0.9 * 0.5)) < CLOSE:
        return "The bonus of the next room is missing. Add it to each value there, and take the best of the sums."
    if abs(answer - (0.1 + 0.9 * 0.6)) < CLOSE:
        return "You take the best value and then its bonus. Take the best of value plus bonus."
    if abs(answer - (0.1 + 0.9 * 1.5)) < CLOSE:
        return "The best value and the best bonus belong to different actions. Add first, then take the best."
    if abs(answer - (0.1 + 1.2)) < CLOSE:
        return "What comes a move later counts gamma as much."
    if abs(answer - 0.9 * (0.1 + 1.2)) < CLOSE:
        return "What is paid now counts in full; only what the next room promises is discounted."
    if not abs(answer - wanted) <= CLOSE:  # nor what is no number
        return (
            "Paid 0.1, values [0.5, 0.2] tried [9, 0] times, size 1 and gamma 0.9 should give "
            f"{wanted:.3f}; yours gives {answer:.3f}."
        )
    if not abs(float(end) - 0.1) <= CLOSE:
        return "Nothing follows the end: where `over` is true, only the pay counts."
    other = 2.0 + 0.5 * max(1.0 + 0.25, 0.0 + 0.5)
    if not abs(float(promise(2.0, np.array([1.0, 0.0]), np.array([1.0, 0.0]), 0.5, 0.5, False)) - other) <= CLOSE:
        return "Right for a size of 1 and a gamma of 0.9, wrong for others: is one of them written into it?"
    return None


def nats(p: NDArray[Any]) -> float:
    """Entropy, the reference."""
    return float(-np.sum(p * np.log(np.maximum(p, 1e-300))))


def _entropy(entropy: Callable[..., Any]) -> str | None:
    for p in (np.array([0.5, 0.3, 0.2]), np.full(4, 0.25), np.array([1.0, 0.0, 0.0])):
        with np.errstate(all="ignore"):
            try:
                answer = entropy(p)
            except (ValueError, ZeroDivisionError):  # of `math`, where a probability is 0
                if p.all():
                    raise
                answer = np.nan
        if np.shape(answer) != ():
            return f"`entropy` gives one number; got shape {np.shape(answer)}."
        answer, wanted = float(answer), nats(p)
        if abs(answer - wanted) < 1e-4:  # some add a tiny number to each probability
            continue
        if np.isnan(answer):
            return "A probability of 0 makes yours nan, because log 0 is not a number: let it add nothing."
        if abs(answer + wanted) < 1e-6:
            return "Entropy is not negative: yours has the wrong sign."
        if abs(answer - wanted / np.log(2)) < 1e-6:
            return "That is in bits; in nats the logarithm is the natural one."
        if answer == 0:
            return f"Probabilities {p.tolist()} are undecided: their entropy is {wanted:.4f}, yours is 0."
        return f"The entropy of {p.tolist()} is {wanted:.4f}; yours is {answer:.4f}. It is the sum of -p log p."
    return None


def after(scores: NDArray[Any], action: int, paid: float, coefficient: float, rate: float) -> NDArray[Any]:
    """Scores after one step, the reference."""
    p = np.exp(scores - scores.max())
    p /= p.sum()
    slope = -p * (np.log(p) + nats(p))
    return scores + rate * (paid * (np.eye(len(p))[action] - p) + coefficient * slope)


def _stepped(stepped: Callable[..., Any]) -> str | None:
    scores = np.array([0.4, -0.3, 1.1])

    def moved(*given: float) -> NDArray[Any]:
        return np.asarray(stepped(scores, 1, *given), float)

    first = moved(0.8, 0.0, 0.5)
    if first.shape != scores.shape:
        return f"Three scores go in and three come out; got shape {first.shape}."
    if np.allclose(first, scores):
        return "The scores stay as they are. The one that was played should rise by what it paid."
    if not np.allclose(first, after(scores, 1, 0.8, 0.0, 0.5)):
        if np.allclose(first - scores, scores - after(scores, 1, 0.8, 0.0, 0.5)):
            return "The wrong way: what pays should become likelier."
        if np.allclose(first, after(scores, 1, 0.8, 0.0, 1.0)):
            return "The `rate` changes nothing."
        if np.allclose(first, after(scores, 1, 1.0, 0.0, 0.5)):
            return "What was paid changes nothing: multiply the slope of log pi by it."
        rose = np.flatnonzero(first > scores + 1e-12)
        if np.array_equal(rose, [1]) and np.allclose(np.delete(first - scores, 1), 0):
            return "Only the played score moves. The others fall by their own probability."
        return "Without an entropy bonus scores move by rate * paid * (1 - p) for the played, and -p for the others."
    second = moved(0.0, 0.7, 1.0)
    wanted = after(scores, 1, 0.0, 0.7, 1.0)
    if np.allclose(second, scores):
        return "The entropy bonus changes nothing. Add coefficient times the slope of the entropy."
    if np.allclose(second - scores, scores - wanted):
        return "The bonus has the wrong sign: it should raise the entropy."
    if not np.allclose(second, wanted):
        return (
            f"With paid = 0 and a bonus of 0.7 the scores {scores.tolist()} should come to {wanted.round(3).tolist()}; "
            f"yours come to {second.round(3).tolist()}. The slope is -p (log p + H)."
        )
    if not np.allclose(moved(0.3, 0.2), after(scores, 1, 0.3, 0.2, 1.0)):
        return "Without a `rate` it should be 1, and both parts together are multiplied by it."
    if runs_away(stepped, np.array([2000.0, 0.0, -2000.0]), 0, 1.0, 0.1):
        return "With scores of some thousands yours gives nan: subtract the largest score first, and mind log 0."
    return None
