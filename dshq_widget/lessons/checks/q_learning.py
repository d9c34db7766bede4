"""Whether somebody's Q-learning, replay buffer, targets and error are those of Watkins (1989) and Mnih (2015)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.lessons.checks.slips import first_wrong, hint, same

DONE = "It is right for moves, rows and networks that were made for this check."

TABLE = np.array([[0.5, 2.0, -1.0], [1.5, 0.2, 3.0], [0.0, -0.7, 0.4]])
PAID = np.array([1.0, -0.5, 2.0, 0.25, 1.0])
OVER = np.array([0.0, 0.0, 1.0, 0.0, 1.0])
DRAWS = 3000


class Fixed:
    """A network with one row of weights for each action."""

    def __init__(self, seed: int):
        self.weights = np.random.default_rng(seed).normal(0, 1, (4, 2))

    def values(self, seen: NDArray[Any]) -> NDArray[Any]:
        """Action values, `[n, 2]`."""
        return np.asarray(seen @ self.weights)


def wanted_targets(
    frozen: Fixed, paid: NDArray[Any], after: NDArray[Any], over: NDArray[Any], gamma: float
) -> NDArray[Any]:
    """The targets of DQN, `[n]`."""
    return np.asarray(paid + gamma * (1 - over) * frozen.values(after).max(1))


def made(n: int, seed: int) -> NDArray[Any]:
    """Rows of decisions, `[n, 11]`."""
    rng = np.random.default_rng(seed)
    ended = np.resize(OVER, n)
    return np.column_stack(
        [rng.normal(0, 1, (n, 4)), rng.integers(2, size=n), np.resize(PAID, n), rng.normal(0, 1, (n, 4)), ended]
    )


def missing(**given: Any) -> list[str]:
    """What the answers to the four exercises lack, as far as they are given."""
    judges = {"q_update": _q_update, "Replay": _replay, "targets": _targets, "off": _off}
    ask = "Give what you wrote by its name: `check('q-learning', q_update=q_update)`."
    return first_wrong(given, judges, ask, ["q_update", "Replay"])


def _q_update(q_update: Callable[..., Any]) -> list[str]:
    for cell, action, paid, after, over, alpha, gamma in (
        (0, 1, 1.0, 1, False, 0.5, 0.9),
        (2, 0, -3.0, 1, False, 0.2, 0.6),
        (1, 2, 2.0, 0, True, 0.25, 0.9),
    ):
        values = TABLE.copy()
        answer = q_update(values, cell, action, paid, after, over, alpha, gamma)
        old, following = TABLE[cell, action], TABLE[after].max()
        reached = paid + (0.0 if over else gamma * following)
        wanted, found = old + alpha * (reached - old), values[cell, action]
        others = np.ones(TABLE.shape, bool)
        others[cell, action] = False
        if np.array_equal(values, TABLE) and answer is not None:
            return ["The table has not changed: write into `values[cell, action]`. Nothing has to be returned."]
        if not np.array_equal(values[others], TABLE[others]):
            return ["Other entries have changed, too. Correct `values[cell, action]` alone."]
        if same(found, wanted):
            continue
        if over:
            return ["Nothing follows the end: where `over` is true, the target is `paid` alone."]
        here = TABLE[cell].max()
        slips = {
            "The table has not changed: write into `values[cell, action]`.": old,
            "What follows is missing: add `gamma * values[after].max()` to what was paid.": old + alpha * (paid - old),
            "The maximum is taken in the cell before the move. Take it in `after`.": (
                old + alpha * (paid + gamma * here - old)
            ),
            "`gamma` is missing: what follows is discounted.": old + alpha * (paid + following - old),
            "This is what the action just done is worth in the next cell. Take the best there: `.max()`.": (
                old + alpha * (paid + gamma * TABLE[after, action] - old)
            ),
            "This is the mean of what follows. Take the best: `.max()`.": (
                old + alpha * (paid + gamma * TABLE[after].mean() - old)
            ),
            "The old value is not taken off: the surprise is the target less `values[cell, action]`.": (
                old + alpha * reached
            ),
            "This is the target itself. Move towards it by `alpha` of the difference.": reached,
            "The sign is turned: the surprise is the target less the old value.": old - alpha * (reached - old),
            "`alpha` is missing: take only a share of the surprise.": old + (reached - old),
            "`argmax` is the number of the best action. Its value is `max`.": (
                old + alpha * (paid + gamma * TABLE[after].argmax() - old)
            ),
        }
        return hint(found, slips) or [
            f"values[cell, action] was {old:g}; paid {paid:g}, best of the next cell {following:g}, alpha {alpha:g}, "
            f"gamma {gamma:g}: it should become {wanted:.3f} and is {found:.3f}."
        ]
    return []


def _replay(replay: Callable[..., Any]) -> list[str]:
    memory, rng = replay(10, 2), np.random.default_rng(5)

    def rows(first: int, n: int) -> NDArray[Any]:
        numbers = np.arange(first, first + n)
        return np.column_stack([numbers, -numbers / 2])

    def drawn(n: int = DRAWS) -> NDArray[Any] | str:
        answer = memory.draw(n, rng)
        if answer is None:
            return "`draw` returns nothing: end it with `return`."
        if np.shape(answer) != (n, 2):
            return f"{n} rows of two numbers have shape {(n, 2)}; got {np.shape(answer)}."
        return np.asarray(answer)

    memory.add(rows(1, 4))
    first = drawn()
    if isinstance(first, str):
        return [first]
    if (first[:, 0] == 0).any():
        return ["Four rows are in it, and it draws empty ones, too: draw from the first `min(added, capacity)` places."]
    if np.array_equal(first[:, 1], np.trunc(-first[:, 0] / 2)):
        return ["It keeps whole numbers only, and rows have fractions: `np.zeros((capacity, numbers))`, without `int`."]
    if not np.array_equal(first[:, 1], -first[:, 0] / 2):
        return ["It mixes numbers of different rows. Draw whole rows: `self.rows[places]`."]
    if set(first[:, 0]) != {1.0, 2.0, 3.0, 4.0}:
        return [f"Rows 1 to 4 were added; it draws {sorted(set(first[:, 0]))}."]
    memory.add(rows(5, 4))
    second = drawn()
    if isinstance(second, str):
        return [second]
    if set(second[:, 0]) != set(range(1, 9)):
        if set(second[:, 0]) == set(range(5, 9)):
            return ["The second four rows have overwritten the first four. Begin at the place `self.added % capacity`."]
        return [f"Rows 1 to 8 are in it; it draws {sorted(set(second[:, 0]))}."]
    try:
        memory.add(rows(9, 4))  # beyond the end
    except (ValueError, IndexError) as error:
        return [
            f"It has room for 10 rows, and rows 9 to 12 do not fit behind the first 8: {error}. "
            "The places are `(self.added + np.arange(n)) % capacity`."
        ]
    third = drawn()
    if isinstance(third, str):
        return [third]
    if set(third[:, 0]) != set(range(3, 13)):
        return [
            f"After rows 1 to 12 a ring of 10 keeps 3 to 12; yours draws {sorted(int(k) for k in set(third[:, 0]))}. "
            "The places are `(self.added + np.arange(n)) % capacity`."
        ]
    shares = np.bincount(third[:, 0].astype(int), minlength=13)[3:] / DRAWS
    if np.abs(shares - 0.1).max() > 0.035:
        return ["Each row should be as likely as any other: `rng.integers(...)`."]
    return []


def _targets(targets: Callable[..., Any]) -> list[str]:
    for seed, gamma in ((1, 0.9), (2, 0.5)):
        frozen, rows = Fixed(seed), made(5, seed)
        paid, after, over = rows[:, 5], rows[:, 6:10], rows[:, 10]
        values, wanted = frozen.values(after), wanted_targets(frozen, paid, after, over, gamma)
        answer = targets(Fixed(seed), paid, after, over, gamma)
        if np.shape(answer) != paid.shape:
            return [f"A target for each decision: shape {paid.shape}; got {np.shape(answer)}. Take `.max(1)`."]
        best, goes_on = values.max(1), 1 - over
        slips = {
            "What follows is missing: `gamma` times the largest value of `frozen.values(after)`.": paid,
            "Nothing follows the end: multiply what follows by `1 - over`.": paid + gamma * best,
            "`gamma` is missing.": paid + goes_on * best,
            "The largest of ALL values was taken. Each decision has its own: `.max(1)`.": (
                paid + gamma * goes_on * values.max()
            ),
            "This is the mean of the values. Take the best action: `.max(1)`.": paid + gamma * goes_on * values.mean(1),
            "`over` is the wrong way round: 1 where it has ended.": paid + gamma * over * best,
            "What was paid at the end counts, too. Only what FOLLOWS is nothing.": goes_on * (paid + gamma * best),
            "What was paid counts in full; only what follows is discounted.": gamma * (paid + goes_on * best),
            "`argmax` is the number of the best action. Its value is `max`.": (
                paid + gamma * goes_on * values.argmax(1)
            ),
        }
        if not same(answer, wanted):
            return hint(answer, slips) or [
                f"For five decisions it should give {np.round(wanted, 3).tolist()}; "
                f"it gives {np.round(np.asarray(answer, float), 3).tolist()}."
            ]
    return []


def _off(off: Callable[..., Any]) -> list[str]:
    for n, seed, gamma in ((5, 3, 0.9), (7, 4, 0.5)):
        net, frozen, rows = Fixed(seed), Fixed(seed + 10), made(n, seed)
        said = net.values(rows[:, :4])[np.arange(n), rows[:, 4].astype(int)]
        wanted = wanted_targets(frozen, rows[:, 5], rows[:, 6:10], rows[:, 10], gamma)
        own = wanted_targets(net, rows[:, 5], rows[:, 6:10], rows[:, 10], gamma)
        every = net.values(rows[:, :4])
        answer = off(Fixed(seed), Fixed(seed + 10), rows.copy(), gamma)
        if np.shape(answer) != ():
            return [f"It should be one number; got shape {np.shape(answer)}."]
        slips = {
            "Still the bug. `said` has shape `(n, 1)` and `wanted` `(n,)`: NumPy makes a table of them.": np.mean(
                (wanted - said[:, None]) ** 2
            ),
            "The table is gone, and so is the choice of the action: take the value of the one that was done.": np.mean(
                (wanted[:, None] - every) ** 2
            ),
            "The targets come from `frozen`; that line was right.": np.mean((own - said) ** 2),
            "This is the sum. The mean was right.": np.sum((wanted - said) ** 2),
            "The differences have to be squared; that line was right.": np.mean(wanted - said),
            "The differences have to be squared; that was right.": np.abs(wanted - said).mean(),
            "The best action's value was taken. Take that of the action that was done.": np.mean(
                (wanted - every.max(1)) ** 2
            ),
        }
        if not same(answer, np.mean((wanted - said) ** 2)):
            return hint(answer, slips) or [
                f"For {n} decisions it should give {np.mean((wanted - said) ** 2):.4f}; it gives {float(answer):.4f}."
            ]
    return []
