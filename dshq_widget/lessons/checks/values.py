"""Whether somebody's returns, TD step, Bellman round and plan are the textbook's (Sutton and Barto, 2018, 3 to 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.lessons.checks.slips import first_wrong, hint, same

DONE = "It is right on numbers and on a small maze that were made for this check."

REWARDS = (0.0, 1.0, -0.5, 0.0, 2.0)
"""A tuple, as the lesson gives the rewards of a walk."""
GAMMA = 0.8
AFTER = np.array([[0, 1, 3, 0], [1, 2, 4, 0], [2, 2, 5, 1], [0, 4, 3, 3], [1, 5, 4, 3], [2, 5, 5, 4]])
"""Two rows of three cells without walls: where up, right, down and left lead."""
TARGET = 5
VALUES = np.array([0.1, 0.4, 0.3, 0.2, 0.9, 0.0])


def discounted(rewards: tuple[float, ...], gamma: float) -> NDArray[Any]:
    """The return of each step, f64."""
    found, following = np.zeros(len(rewards)), 0.0
    for t in reversed(range(len(rewards))):
        found[t] = following = rewards[t] + gamma * following
    return found


def expected(values: NDArray[Any], gamma: float) -> NDArray[Any]:
    """What each way of AFTER is worth, `[cells, 4]`."""
    return (AFTER == TARGET) + gamma * values[AFTER]


def missing(**given: Any) -> list[str]:
    """What the answers to the four exercises lack, as far as they are given."""
    judges = {"returns": _returns, "td_update": _td_update, "bellman": _bellman, "best_ways": _best_ways}
    return first_wrong(
        given, judges, "Give what you wrote by its name: `check('values', returns=returns)`.", ["td_update"]
    )


def _returns(returns: Callable[..., Any]) -> list[str]:
    try:
        answer = returns(REWARDS, GAMMA)
    except (AttributeError, TypeError) as error:
        return [
            f"The rewards of a walk are a tuple, and with one it ends with {type(error).__name__}: {error}. "
            "`np.array(rewards)` makes an array of it."
        ]
    if np.shape(answer) != (len(REWARDS),):
        return [f"{len(REWARDS)} rewards have {len(REWARDS)} returns; got shape {np.shape(answer)}."]
    wanted, rewards = discounted(REWARDS, GAMMA), np.array(REWARDS)
    late = np.append(wanted[1:], 0.0)
    slips = {
        "These are the rewards alone. Each return also has `gamma` times the return after it.": rewards,
        "Nothing is discounted: multiply the return after it by `gamma`.": discounted(REWARDS, 1.0),
        "Only the next reward is added. Wanted is the whole return after it, from the end backwards.": (
            rewards + GAMMA * np.append(rewards[1:], 0.0)
        ),
        "These look back: what came before. A return is what follows.": discounted(REWARDS[::-1], GAMMA)[::-1],
        "The right numbers in the wrong order: the first one belongs to the first step.": wanted[::-1],
        "The step's own reward is discounted as well. It counts fully.": GAMMA * wanted,
        "The step's own reward is missing.": GAMMA * late,
        "Everything is discounted to the first step. Each return counts from its own step.": (
            wanted * GAMMA ** np.arange(len(rewards))
        ),
    }
    if not same(answer, wanted):
        return hint(answer, slips) or [
            f"For the rewards {list(REWARDS)} and gamma {GAMMA} it should give {np.round(wanted, 3).tolist()}."
        ]
    if not same(returns((1.0, 1.0), 0.5), [1.5, 1.0]):
        return ["Right for gamma = 0.8, wrong for gamma = 0.5 or two rewards: is a number written into it?"]
    return []


def _td_update(td_update: Callable[..., Any]) -> list[str]:
    cell, reward, beyond, alpha = 1, 0.5, 4, 0.25
    values = VALUES.copy()
    error = td_update(values, cell, reward, beyond, alpha, GAMMA)
    before, later = VALUES[cell], VALUES[beyond]
    wanted = reward + GAMMA * later - before
    if error is None:
        return ["`td_update` returns nothing: end it with `return error`."]
    if np.shape(error) != ():
        return [f"The TD error is one number; got shape {np.shape(error)}."]
    slips = {
        "What is expected from `beyond` is missing: `gamma * values[beyond]`.": reward - before,
        "The next value is not discounted: `gamma` times.": reward + later - before,
        "The value before is missing: take `values[cell]` off.": reward + GAMMA * later,
        "The reward is missing.": GAMMA * later - before,
        "The sign is turned: what came, less what was expected.": -wanted,
        "The old value is discounted, too. Only the later one is.": reward + GAMMA * (later - before),
        "This is the new value. Give the TD error.": before + alpha * wanted,
        "This is the change. Give the TD error itself, without `alpha`.": alpha * wanted,
    }
    if not same(error, wanted):
        return hint(error, slips) or [f"The TD error should be {wanted:.3f} and is {float(error):.3f}."]
    changed = values - VALUES
    if not np.any(changed):
        return ["The error is right, but `values` did not change. Write the new one into `values[cell]`."]
    if np.flatnonzero(changed).tolist() != [cell]:
        return ["Another cell was changed. One step teaches about the cell that it left: `values[cell]`."]
    slips = {
        "The whole error was added. Add `alpha` times the error.": wanted,
        "The value moves the wrong way: add the error.": -alpha * wanted,
        "The error took the place of the value. Add `alpha` times it to the old value.": alpha * wanted - before,
        "Added was `gamma` times the error; it is `alpha` times.": GAMMA * wanted,
    }
    if not same(changed[cell], alpha * wanted):
        return hint(changed[cell], slips) or [
            f"The value should move by {alpha * wanted:.3f}; it moved by {changed[cell]:.3f}."
        ]
    again = VALUES.copy()
    wanted = 1.0 + 0.3 * VALUES[0] - VALUES[2]
    if not same(td_update(again, 2, 1.0, 0, 0.6, 0.3), wanted) or not same(again[2], VALUES[2] + 0.6 * wanted):
        return [f"Right for alpha = {alpha} and gamma = {GAMMA}, wrong for others: is a number written into it?"]
    return []


def _cells(answer: Any, name: str) -> list[str]:
    if np.shape(answer) != VALUES.shape:
        return [f"`{name}` should give one number for each of {len(VALUES)} cells; got shape {np.shape(answer)}."]
    return []


def _bellman(bellman: Callable[..., Any]) -> list[str]:
    answer = bellman(VALUES, AFTER, TARGET, GAMMA)
    if found := _cells(answer, "bellman"):
        return found
    worth, paid = expected(VALUES, GAMMA), (AFTER == TARGET).astype(float)

    def ended(numbers: NDArray[Any]) -> NDArray[Any]:
        return np.where(np.arange(len(VALUES)) == TARGET, 0.0, numbers)

    slips = {
        "This is only what is paid. Add `gamma` times the mean of `values[after]`.": ended(paid.mean(1)),
        "What is paid is missing.": ended((GAMMA * VALUES[AFTER]).mean(1)),
        "What follows is not discounted: `gamma` times.": ended((paid + VALUES[AFTER]).mean(1)),
        "This is the best way. Our walker has no plan: take the mean over the four ways.": ended(worth.max(1)),
        "The four ways are added up. Take their mean.": ended(worth.sum(1)),
        "The target has a value here. Nothing follows it: 0.": worth.mean(1),
        "The payment is discounted as well. Only what follows is.": ended(GAMMA * (paid + VALUES[AFTER]).mean(1)),
        "The old value is added. The equation has only what is paid and what follows.": ended(worth.mean(1) + VALUES),
        "This is the difference to the old values. Give the new values.": ended(worth.mean(1) - VALUES),
        "The cell's own value is used. What follows is `values[after]`.": ended(paid.mean(1) + GAMMA * VALUES),
    }
    if not same(answer, ended(worth.mean(1))):
        return hint(answer, slips) or [
            f"On a maze of six cells it should give {np.round(ended(worth.mean(1)), 3).tolist()}; it gives "
            f"{np.round(np.asarray(answer, float), 3).tolist()}."
        ]
    if not same(bellman(VALUES, AFTER, TARGET, 0.3), ended(expected(VALUES, 0.3).mean(1))):
        return [f"Right for gamma = {GAMMA}, wrong for gamma = 0.3: is a number written into it?"]
    last = len(VALUES) - 1  # the same maze, its cells numbered from the end
    turned = bellman(VALUES[::-1].copy(), last - AFTER[::-1], last - TARGET, GAMMA)
    if not same(turned, ended(worth.mean(1))[::-1]):
        return ["Right where the target is the last cell, wrong where it is the first: use `target`."]
    return []


def _best_ways(best_ways: Callable[..., Any]) -> list[str]:
    for values in (VALUES, np.array([0.5, 0.2, 0.1, 0.7, 0.3, 0.0]), np.array([0.2, 1.15, 0.3, 0.1, 0.4, 0.0])):
        answer = best_ways(values, AFTER, TARGET, GAMMA)
        if found := _cells(answer, "best_ways"):
            return found
        given, worth = np.asarray(answer), expected(values, GAMMA)
        if given.dtype.kind not in "iu" and not same(given, np.round(given)):
            return ["A way is a number from 0 to 3: `argmax`, not `max`."]
        given = given.astype(int)
        if given.min() < 0 or given.max() > 3:
            return ["A way is a number from 0 to 3: take `argmax` along the ways, `axis=1`."]
        here = np.arange(len(values)) != TARGET
        best = np.take_along_axis(worth, given[:, None], 1)[:, 0] >= worth.max(1) - 1e-9
        if best[here].all():
            continue
        unpaid = values[AFTER].argmax(1)
        if (given == 0).all():
            return ["It always goes up. Take the way with the largest payment plus discounted value."]
        if (given[here] == worth.argmin(1)[here]).all():
            return ["These are the worst ways: `argmax`."]
        if (given[here] == expected(values, 1.0).argmax(1)[here]).all():
            return ["What follows is not discounted: `gamma` times its value."]
        if (given[here] == unpaid[here]).all():
            return ["It looks at values alone. Beside the target the payment counts: its value is 0."]
        cell = int(np.flatnonzero(here & ~best)[0])
        return [
            f"In cell {cell} of a small maze the four ways are worth {np.round(worth[cell], 2).tolist()}; it takes way "
            f"{given[cell]}."
        ]
    return []
