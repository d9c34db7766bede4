import numpy as np

from dshq_widget.lessons.checks.values import TARGET, discounted
from tests.lessons.attempts import Attempts


def called(name, answers):
    """Answers to one exercise, by what `check` calls it."""
    return {what: {name: answer} for what, answer in answers.items()}


def sums(give):
    """Returns with one slip: what is given, of the rewards, the discount and the right returns."""
    return lambda rewards, gamma: give(np.array(rewards), gamma, discounted(tuple(rewards), gamma))


def by_definition(rewards, gamma):
    n = len(rewards)
    return [sum(gamma ** (k - t) * rewards[k] for k in range(t, n)) for t in range(n)]


def by_matrix(rewards, gamma):
    """Returns solve G - gamma G' = r."""
    return np.linalg.solve(np.eye(len(rewards)) - gamma * np.eye(len(rewards), k=1), rewards)


def in_a_list(rewards, gamma):
    found = rewards.copy()
    for t in reversed(range(len(found) - 1)):
        found[t] += gamma * found[t + 1]
    return found


def step(
    error=lambda r, v, n, gamma: r + gamma * n - v,
    move=lambda old, error, alpha, gamma: old + alpha * error,
    give=lambda error, new, alpha: error,
    which=lambda cell, beyond: cell,
):
    """A TD step with one slip: the error, the new value, what is given, the cell that is changed."""

    def td_update(values, cell, reward, beyond, alpha, gamma):
        found = error(reward, values[cell], values[beyond], gamma)
        new = move(values[cell], found, alpha, gamma)
        values[which(cell, beyond)] = new
        return give(found, new, alpha)

    return td_update


def weighted(values, cell, reward, beyond, alpha, gamma):
    """The new value as a mean of old and new."""
    before, seen = float(values[cell]), reward + gamma * values[beyond]
    values[cell] = (1 - alpha) * before + alpha * seen
    return np.array(seen - before)


def rounds(follow=lambda values, after: values[after], many=np.mean, paid=1.0, end=0.0, gamma_of=lambda g: g, add=0.0):
    """A Bellman round with one slip."""

    def bellman(values, after, target, gamma):
        pays = paid * (after == target)
        new = many(pays + gamma_of(gamma) * follow(values, after), axis=1) + add * values
        if end is not None:
            new[target] = end
        return new

    return bellman


def at_the_last(values, after, target, gamma):
    new = np.mean((after == target) + gamma * values[after], axis=1)
    new[-1] = 0.0
    return new


def in_place(values, after, target, gamma):
    values[:] = rounds()(values, after, target, gamma)
    return values


def cell_by_cell(values, after, target, gamma):
    return [
        0.0 if cell == target else sum(1.0 if to == target else gamma * values[to] for to in ways) / 4
        for cell, ways in enumerate(after)
    ]


def by_a_matrix(values, after, target, gamma):
    moves = np.eye(len(values))[after].mean(1)
    new = moves[:, target] + gamma * moves @ values
    return np.where(np.arange(len(values)) == target, 0, new)


def plan(pick=lambda worth: worth.argmax(1), paid=1.0, follow=1.0):
    """A plan with one slip."""
    return lambda values, after, target, gamma: pick(paid * (after == target) + follow * gamma * values[after])


def last_of_equals(values, after, target, gamma):
    worth = (after == target) + gamma * values[after]
    return [3 - int(np.argmax(row[::-1])) for row in worth]


ATTEMPTS = {
    "returns": Attempts(
        called(
            "returns",
            {
                "rewards alone": sums(lambda r, gamma, right: r),
                "not discounted": lambda rewards, gamma: np.cumsum(rewards[::-1])[::-1],
                "only the next": sums(lambda r, gamma, right: r + gamma * np.append(r[1:], 0)),
                "looks back": lambda rewards, gamma: discounted(tuple(rewards[::-1]), gamma)[::-1],
                "the wrong order": sums(lambda r, gamma, right: right[::-1]),
                "all discounted": sums(lambda r, gamma, right: gamma * right),
                "without its own": sums(lambda r, gamma, right: right - r),
                "to the first step": sums(lambda r, gamma, right: right * gamma ** np.arange(len(r))),
                "only the first": sums(lambda r, gamma, right: right[0]),
                "one too few": sums(lambda r, gamma, right: right[1:]),
                "in place": in_a_list,
                "a number written into it": sums(lambda r, gamma, right: discounted(tuple(r), 0.8)),
                "nothing is returned": sums(lambda r, gamma, right: None),
            },
        ),
        called("returns", {"the definition": by_definition, "a system of equations": by_matrix}),
    ),
    "one step": Attempts(
        called(
            "td_update",
            {
                "nothing follows": step(lambda r, v, n, gamma: r - v),
                "not discounted": step(lambda r, v, n, gamma: r + n - v),
                "nothing expected": step(lambda r, v, n, gamma: r + gamma * n),
                "no reward": step(lambda r, v, n, gamma: gamma * n - v),
                "turned": step(lambda r, v, n, gamma: v - r - gamma * n),
                "both discounted": step(lambda r, v, n, gamma: r + gamma * (n - v)),
                "gives the value": step(give=lambda error, new, alpha: new),
                "gives the change": step(give=lambda error, new, alpha: alpha * error),
                "changes nothing": step(move=lambda old, *rest: old),
                "the wrong cell": step(which=lambda cell, beyond: beyond),
                "the whole error": step(move=lambda old, error, alpha, gamma: old + error),
                "away from it": step(move=lambda old, error, alpha, gamma: old - alpha * error),
                "the error for the value": step(move=lambda old, error, alpha, gamma: alpha * error),
                "gamma for alpha": step(move=lambda old, error, alpha, gamma: old + gamma * error),
                "nothing is returned": step(give=lambda *given: None),
            },
        ),
        called(
            "td_update",
            {
                "a weighted mean": weighted,
                "a number of Python": step(give=lambda error, new, alpha: float(error)),
            },
        ),
    ),
    "Bellman": Attempts(
        called(
            "bellman",
            {
                "only what is paid": rounds(gamma_of=lambda gamma: 0),
                "only what follows": rounds(paid=0.0),
                "not discounted": rounds(gamma_of=lambda gamma: 1.0),
                "the best way": rounds(many=np.max),
                "the sum": rounds(many=np.sum),
                "a value at the target": rounds(end=None),
                "1 at the target": rounds(end=1.0),
                "the last cell for the target": at_the_last,
                "the payment discounted": lambda values, after, target, gamma: rounds(paid=gamma)(
                    values, after, target, gamma
                ),
                "the old value added": rounds(add=1.0),
                "the difference": rounds(add=-1.0),
                "its own value": rounds(follow=lambda values, after: values[:, None]),
                "changes its values": in_place,
                "a row for each way": lambda values, after, target, gamma: (after == target) + gamma * values[after],
                "nothing is returned": lambda *given: None,
            },
        ),
        called("bellman", {"cell by cell": cell_by_cell, "a matrix of moves": by_a_matrix}),
    ),
    "plan": Attempts(
        called(
            "best_ways",
            {
                "always up": plan(lambda worth: np.zeros(len(worth), int)),
                "always right": plan(lambda worth: np.ones(len(worth), int)),
                "always down": plan(lambda worth: np.full(len(worth), 2)),
                "the worst": plan(lambda worth: worth.argmin(1)),
                "what it is worth": plan(lambda worth: worth.max(1)),
                "the best of all": plan(lambda worth: worth.argmax()),
                "along the cells": plan(lambda worth: worth.argmax(0)),
                "values alone": plan(paid=0.0),
                "not discounted": lambda values, after, target, gamma: plan()(values, after, target, 1.0),
                "payments alone": plan(follow=0.0),
                "from 1 to 4": plan(lambda worth: worth.argmax(1) + 1),
                "the cell that follows": lambda values, after, target, gamma: after[
                    np.arange(len(after)), plan()(values, after, target, gamma)
                ],
                "nothing is returned": plan(lambda worth: None),
            },
        ),
        called(
            "best_ways",
            {
                "the last of equals": last_of_equals,
                "sorted": plan(lambda worth: np.argsort(worth, axis=1)[:, -1]),
                "anything at the target": lambda values, after, target, gamma: np.where(
                    np.arange(len(values)) == TARGET, 3, plan()(values, after, target, gamma)
                ),
            },
        ),
    ),
}
