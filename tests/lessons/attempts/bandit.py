import math

import numpy as np

from dshq_widget.lessons.checks.bandit import upper
from tests.lessons.attempts import Attempts


def called(name, answers):
    """Answers to one exercise, by what `check` calls it."""
    return {what: {name: answer} for what, answer in answers.items()}


def mean(move, count=1):
    """A running mean with one slip: the new value of the old one, the reward, its count and all plays."""

    def estimate(values, counts, arm, reward):
        counts[arm] += count
        values[arm] = move(values[arm], reward, counts[arm], counts.sum())

    return estimate


def everywhere(values, counts, arm, reward):
    counts[arm] += 1
    values += (reward - values) / counts[arm]


def by_sums(values, counts, arm, reward):
    total = values[arm] * counts[arm] + reward
    counts[arm] = counts[arm] + 1
    values[arm] = total / counts[arm]


def by_weights(values, counts, arm, reward):
    here = np.arange(len(values)) == arm
    counts += here
    values += here * (reward - values) / np.maximum(counts, 1)


def pick(
    greedy=lambda values: int(np.argmax(values)),
    explore=lambda values, chance: int(chance.integers(len(values))),
    tries=lambda chance, epsilon: chance.random() < epsilon,
):
    """A choice with one slip."""
    return lambda values, epsilon, chance: explore(values, chance) if tries(chance, epsilon) else greedy(values)


def by_probabilities(values, epsilon, chance):
    n = len(values)
    return chance.choice(n, p=np.full(n, epsilon / n) + (1 - epsilon) * np.eye(n)[np.argmax(values)])


def another(values, chance):
    """Any arm but the best."""
    return int((np.argmax(values) + 1 + chance.integers(len(values) - 1)) % len(values))


def given_away(give):
    """A regret with one slip."""
    return lambda chosen, chances: give(chances[chosen], chances)


def in_a_loop(chosen, chances):
    total, found = 0.0, []
    for arm in chosen:
        total += max(chances) - chances[arm]
        found.append(total)
    return found


def by_table(chosen, chances):
    counts = np.cumsum(np.eye(len(chances))[chosen], axis=0)
    return counts @ (chances.max() - chances)


def bound(give):
    """A bound with one slip: what is given, of values, bonus, counts, t and c; infinite where nothing was played."""

    def bounds(values, counts, t, c):
        found = give(values, np.sqrt(np.log(t) / counts), counts, t, c)
        return None if found is None else np.where(counts > 0, found, np.inf)

    return bounds


def one_by_one(values, counts, t, c):
    return [v + c * math.sqrt(math.log(t) / n) if n else math.inf for v, n in zip(values, counts, strict=True)]


ATTEMPTS = {
    "estimate": Attempts(
        called(
            "estimate",
            {
                "the last payment": mean(lambda old, reward, n, all_: reward),
                "a sum": mean(lambda old, reward, n, all_: old + reward),
                "the old one stays": mean(lambda old, reward, n, all_: old + reward / n),
                "turned": mean(lambda old, reward, n, all_: old - (reward - old) / n),
                "one too many": mean(lambda old, reward, n, all_: old + (reward - old) / (n + 1)),
                "all plays": mean(lambda old, reward, n, all_: old + (reward - old) / all_),
                "half": mean(lambda old, reward, n, all_: (old + reward) / 2),
                "a tenth": mean(lambda old, reward, n, all_: old + 0.1 * (reward - old)),
                "the change": mean(lambda old, reward, n, all_: (reward - old) / n),
                "nothing changes": mean(lambda old, reward, n, all_: old),
                "not counted": mean(lambda old, reward, n, all_: old + (reward - old) / (n + 1), count=0),
                "counted twice": mean(lambda old, reward, n, all_: old + (reward - old) / (n / 2), count=2),
                "all machines": everywhere,
            },
        ),
        called("estimate", {"by the sum": by_sums, "by weights": by_weights}),
    ),
    "choose": Attempts(
        called(
            "choose",
            {
                "always greedy": pick(tries=lambda chance, epsilon: False),
                "always tries": pick(tries=lambda chance, epsilon: True),
                "the wrong way round": pick(tries=lambda chance, epsilon: chance.random() > epsilon),
                "never the best": pick(explore=another),
                "the worst": pick(greedy=lambda values: int(np.argmin(values))),
                "the value": pick(greedy=lambda values: float(np.max(values))),
                "the first": pick(greedy=lambda values: 0),
                "never the last": pick(explore=lambda values, chance: int(chance.integers(len(values) - 1))),
                "one beyond": pick(explore=lambda values, chance: int(chance.integers(len(values) + 1))),
                "tries the first": pick(explore=lambda values, chance: 0),
                "half as often": pick(tries=lambda chance, epsilon: chance.random() < epsilon / 2),
                "epsilon squared": pick(tries=lambda chance, epsilon: chance.random() < epsilon**2),
                "nothing when it tries": pick(explore=lambda values, chance: None),
                "four machines always": pick(explore=lambda values, chance: int(chance.integers(4))),
            },
        ),
        called(
            "choose",
            {
                "by probabilities": by_probabilities,
                "the other half": pick(tries=lambda chance, epsilon: chance.random() >= 1 - epsilon),
            },
        ),
    ),
    "regret": Attempts(
        called(
            "regret",
            {
                "nothing": given_away(lambda taken, chances: np.zeros(len(taken))),
                "not added up": given_away(lambda taken, chances: chances.max() - taken),
                "turned": given_away(lambda taken, chances: np.cumsum(taken - chances.max())),
                "earned": given_away(lambda taken, chances: np.cumsum(taken)),
                "against the mean": given_away(lambda taken, chances: np.cumsum(chances.mean() - taken)),
                "against the first": given_away(lambda taken, chances: np.cumsum(chances[0] - taken)),
                "the mean so far": given_away(
                    lambda taken, chances: np.cumsum(chances.max() - taken) / np.arange(1, len(taken) + 1)
                ),
                "each counts 1": given_away(lambda taken, chances: np.cumsum(taken < chances.max())),
                "from the end": given_away(lambda taken, chances: np.cumsum((chances.max() - taken)[::-1])[::-1]),
                "numbers for chances": lambda chosen, chances: np.cumsum(chances.max() - chosen),
                "the last number": given_away(lambda taken, chances: np.sum(chances.max() - taken)),
                "the best so far": given_away(lambda taken, chances: np.cumsum(np.maximum.accumulate(taken) - taken)),
                "the best that was taken": given_away(lambda taken, chances: np.cumsum(taken.max() - taken)),
                "nothing is returned": given_away(lambda taken, chances: None),
            },
        ),
        called("regret", {"in a loop": in_a_loop, "by a table": by_table}),
    ),
    "bounds": Attempts(
        called(
            "bounds",
            {
                "values alone": bound(lambda values, bonus, n, t, c: values),
                "the bonus alone": bound(lambda values, bonus, n, t, c: c * bonus),
                "no c": bound(lambda values, bonus, n, t, c: values + bonus),
                "no root": bound(lambda values, bonus, n, t, c: values + c * bonus**2),
                "no logarithm": bound(lambda values, bonus, n, t, c: values + c * np.sqrt(t / n)),
                "lower": bound(lambda values, bonus, n, t, c: values - c * bonus),
                "upside down": bound(lambda values, bonus, n, t, c: values + c / bonus),
                "base 10": bound(lambda values, bonus, n, t, c: values + c * np.sqrt(np.log10(t) / n)),
                "c under the root": bound(lambda values, bonus, n, t, c: values + np.sqrt(c) * bonus),
                "the count outside": bound(lambda values, bonus, n, t, c: values + c * np.sqrt(np.log(t)) / n),
                "multiplied": bound(lambda values, bonus, n, t, c: values * c * bonus),
                "never played is poor": lambda values, n, t, c: np.where(n > 0, upper(values, n, t, c), 0.0),
                "as if played once": lambda values, n, t, c: upper(values, np.maximum(n, 1), t, c),
                "nothing is returned": bound(lambda *given: None),
            },
        ),
        called(
            "bounds",
            {"one by one": one_by_one, "the formula with 1 / 0": lambda v, n, t, c: v + c * (np.log(t) / n) ** 0.5},
        ),
    ),
}
