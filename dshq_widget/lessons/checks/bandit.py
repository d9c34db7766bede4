"""Whether somebody's running mean, epsilon-greedy choice, regret and bound are the textbook's (Sutton and Barto, 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.lessons.checks.slips import Judges, first_wrong, hint, same

DONE = "It is right on coins and machines that were made for this check."

PAID = ((1, 2.0), (1, 4.0), (2, -1.0), (1, 0.0), (2, 3.0))
"""Arms and what they paid, one after the other."""
VALUES = np.array([0.2, 0.5, 0.9, 0.4])
DRAWS = 4000
SLACK = 0.035
"""More than four standard deviations of a share of DRAWS."""
GIVEN_AWAY = (
    (np.array([0, 2, 1, 0, 1, 2]), np.array([0.2, 0.7, 0.4])),
    (np.array([0, 3, 1, 0]), np.array([0.1, 0.3, 0.8, 0.5])),
)
"""Arms that were taken, and what the machines pay; in the second the best one was not tried."""


def upper(values: NDArray[Any], counts: NDArray[Any], t: int, c: float) -> NDArray[Any]:
    """The bound of each arm (UCB1 of Auer, Cesa-Bianchi and Fischer, 2002); infinite where it was never played."""
    with np.errstate(divide="ignore"):
        return np.where(counts > 0, values + c * np.sqrt(np.log(t) / np.where(counts > 0, counts, 1)), np.inf)


def missing(**given: Any) -> list[str]:
    """What the answers to the four exercises lack, as far as they are given."""
    judges: Judges = {"estimate": _estimate, "choose": (_choose, None), "regret": _regret, "bounds": _bounds}
    ask = "Give what you wrote by its name: `check('bandit', estimate=estimate)`."
    return first_wrong(given, judges, ask, ["estimate"])


def _estimate(estimate: Callable[..., Any]) -> list[str]:
    values, counts, lists = np.zeros(3), np.zeros(3), [[], [], []]  # type: ignore[var-annotated]
    for number, (arm, reward) in enumerate(PAID, start=1):
        before = values.copy()
        estimate(values, counts, arm, reward)
        lists[arm].append(reward)
        played = np.array([len(paid) for paid in lists])
        if not same(counts, played):
            return [
                f"After {number} play{'s' * (number > 1)} the machines were played {played.tolist()} times; "
                f"`counts` is {counts.tolist()}."
            ]
        others = np.arange(3) != arm
        if not same(values[others], before[others]):
            return ["The value of a machine that was not played has changed. Change `values[arm]` only."]
        n, surprise, wanted = len(lists[arm]), reward - before[arm], float(np.mean(lists[arm]))
        if same(values[arm], wanted):
            continue
        if not np.isfinite(values[arm]):
            return ["It divides by 0. Count the play first, then divide by `counts[arm]`."]
        slips = {
            "The values do not change: write into `values[arm]`.": before[arm],
            "This is the last payment. The mean moves by one n-th of the surprise.": reward,
            "These are sums. The mean moves by `(reward - values[arm]) / counts[arm]`.": before[arm] + reward,
            "The old value is not taken off: the surprise is `reward - values[arm]`.": before[arm] + reward / n,
            "The sign is turned: the surprise is the reward less the value.": before[arm] - surprise / n,
            "The count is one too small or too large: count the play first, then divide by `counts[arm]`.": (
                before[arm] + surprise / (n + 1)
            ),
            "Divide by how often THIS machine was played, not by all plays.": before[arm] + surprise / number,
            "This is the mean of the old value and the payment. Each payment counts the same: one n-th.": (
                before[arm] + surprise / 2
            ),
            "A fixed share of the surprise is no mean: take one n-th.": before[arm] + 0.1 * surprise,
            "This is the change alone. Add it to the old value.": surprise / n,
        }
        return hint(values[arm], slips) or [
            f"Machine {arm} has paid {lists[arm]}: its value should be {wanted:.3f} and is {values[arm]:.3f}."
        ]
    return []


def _choose(choose: Callable[..., Any]) -> list[str]:
    for values in (VALUES, VALUES[::-1].copy(), np.arange(6.0)):
        best, n = int(values.argmax()), len(values)
        for epsilon in (0.0, 0.4, 1.0):
            chance = np.random.default_rng(2)
            given = [choose(values, epsilon, chance) for _ in range(DRAWS)]
            if any(arm is None for arm in given):
                return ["`choose` returns nothing, at least sometimes: end both ways with `return`."]
            arms = np.asarray(given)
            if arms.shape != (DRAWS,) or not same(arms, np.round(arms)) or arms.min() < 0 or arms.max() >= n:
                return [f"An arm is a number from 0 to {n - 1}; got {given[0]!r}. It is `np.argmax`, not `max`."]
            shares = np.bincount(arms.astype(int), minlength=n) / DRAWS
            wanted = np.full(n, epsilon / n) + (1 - epsilon) * np.eye(n)[best]
            if np.abs(shares - wanted).max() < SLACK:
                continue
            others = np.delete(shares, best)
            if shares[best] > 0.999:
                return ["It is always greedy. With probability `epsilon` take `chance.integers(len(values))`."]
            if epsilon == 0.0:
                return [f"With epsilon 0 it should always take the largest value; it does so in {shares[best]:.0%}."]
            if abs(shares[best] - (1 - epsilon)) < SLACK:
                return ["When it tries, it never tries the best machine. All are as likely then."]
            if others.max() - others.min() > SLACK:
                return [
                    f"When it tries, all machines are as likely; here the shares are {np.round(shares, 2).tolist()}."
                ]
            return [
                f"With epsilon {epsilon:g} and {n} machines the best one should be taken in {wanted[best]:.0%}; "
                f"it is in {shares[best]:.0%}."
            ]
    return []


def _regret(regret: Callable[..., Any]) -> list[str]:
    return next(filter(None, (_regret_of(regret, chosen, chances) for chosen, chances in GIVEN_AWAY)), [])


def _regret_of(regret: Callable[..., Any], chosen: NDArray[Any], chances: NDArray[Any]) -> list[str]:
    answer = regret(chosen, chances)
    if np.shape(answer) != chosen.shape:
        return [f"{len(chosen)} plays have {len(chosen)} numbers; got shape {np.shape(answer)}."]
    taken, best = chances[chosen], chances.max()
    wanted = np.cumsum(best - taken)
    slips = {
        "It is 0 everywhere. At each play: the best chance less the chance of the machine that was taken.": 0 * wanted,
        "This is the regret of each play. Add it up: `np.cumsum`.": best - taken,
        "The sign is turned: the best chance less the chosen one.": -wanted,
        "These are the chances that were taken, added up. Compare them with the best.": np.cumsum(taken),
        "This is compared with the mean machine. Compare with the best.": np.cumsum(chances.mean() - taken),
        "This is compared with the first machine. Compare with the best.": np.cumsum(chances[0] - taken),
        "This is the mean so far. Give the sum.": wanted / np.arange(1, len(chosen) + 1),
        "Each play counts 1 here. It counts as much as it gave away.": np.cumsum(taken < best),
        "This counts from the end. Begin at the first play.": np.cumsum((best - taken)[::-1])[::-1],
        "The number of the machine was taken for its chance: `chances[chosen]`.": np.cumsum(best - chosen),
        "The best is that of the machines taken so far. Compare with the best of all.": (
            np.cumsum(np.maximum.accumulate(taken) - taken)
        ),
        "The best is that of the machines that were taken. Compare with the best of all, `chances.max()`.": (
            np.cumsum(taken.max() - taken)
        ),
    }
    if not same(answer, wanted):
        return hint(answer, slips) or [
            f"For the chances {chances.tolist()} and the arms {chosen.tolist()} it should give "
            f"{np.round(wanted, 2).tolist()}."
        ]
    return []


def _bounds(bounds: Callable[..., Any]) -> list[str]:
    counts, t, c = np.array([3.0, 10.0, 1.0, 6.0]), 20, 0.7
    with np.errstate(all="ignore"):
        answer = bounds(VALUES.copy(), counts.copy(), t, c)
        if np.shape(answer) != VALUES.shape:
            return [f"{len(VALUES)} machines have {len(VALUES)} bounds; got shape {np.shape(answer)}."]
        bonus = np.sqrt(np.log(t) / counts)
        slips = {
            "These are the values alone. Add the bonus.": VALUES,
            "This is the bonus alone. Add the value.": c * bonus,
            "`c` is missing: it multiplies the root.": VALUES + bonus,
            "The root is missing: `np.sqrt`.": VALUES + c * bonus**2,
            "The logarithm is missing: `np.log(t)`.": VALUES + c * np.sqrt(t / counts),
            "The bonus is taken off: this is a LOWER bound.": VALUES - c * bonus,
            "The fraction is upside down: a machine that was played often needs less bonus.": (
                VALUES + c * np.sqrt(counts / np.log(t))
            ),
            "The logarithm is to base 10; the natural one is wanted, `np.log`.": VALUES
            + c * np.sqrt(np.log10(t) / counts),
            "`c` stands under the root. It stands before it.": VALUES + np.sqrt(c) * bonus,
            "The count is not under the root.": VALUES + c * np.sqrt(np.log(t)) / counts,
            "The bonus is multiplied. Add it.": VALUES * c * bonus,
        }
        if not same(answer, upper(VALUES, counts, t, c)):
            return hint(answer, slips) or [
                f"For the values {VALUES.tolist()}, counts {counts.tolist()}, t = 20 and c = 0.7 it should give "
                f"{np.round(upper(VALUES, counts, t, c), 3).tolist()}."
            ]
        counts[1], t = 0, 10  # as many plays as the counts say
        try:
            answer = np.asarray(bounds(VALUES.copy(), counts.copy(), t, c), float)
        except ZeroDivisionError:
            return ["A machine that was never played makes it divide by 0. Its bound is infinite: `np.inf`."]
        if not np.isposinf(answer[1]):
            return [f"A machine that was never played has an infinite bound; here it is {answer[1]:.3g}."]
        wanted = upper(VALUES, counts, t, c)
        if not same(answer[counts > 0], wanted[counts > 0]):
            return [
                "Where one machine was never played, the bounds of the others are wrong: they should be "
                f"{np.round(wanted[counts > 0], 3).tolist()} and are {np.round(answer[counts > 0], 3).tolist()}."
            ]
    return []
