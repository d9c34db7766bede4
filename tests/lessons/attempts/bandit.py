import math

import numpy as np

from tests.lessons.attempts import exercise

ESTIMATE = {
    "a sum": ("(reward - values[arm]) / counts[arm]", "reward"),
    "all plays": ("/ counts[arm]", "/ counts.sum()"),
    "nothing changes": ("(reward - values[arm]) / counts[arm]", "0"),
    "counted twice": ("+= 1", "+= 2", "/ counts[arm]", "* 2 / counts[arm]"),
    "all machines": ("values[arm] += (reward - values[arm])", "values += (reward - values)"),
}
CHOOSE = {
    "the wrong way round": (" < epsilon", " > epsilon"),
    "never the best": ("int(chance.integers(len(values)))", "another(values, chance)"),
    "the value": ("int(np.argmax(values))", "float(np.max(values))"),
    "nothing when it tries": ("return int(chance.integers(len(values)))", "return None"),
    "four machines always": ("integers(len(values))", "integers(4)"),
}
REGRET = {
    "not added up": ("np.cumsum", ""),
    "turned": ("chances.max() - chances[chosen]", "chances[chosen] - chances.max()"),
    "numbers for chances": ("chances[chosen]", "chosen"),
    "the last number": ("cumsum", "sum"),
    "the best that was taken": ("chances.max()", "chances[chosen].max()"),
}
BOUNDS = {
    "no c": ("c * ", ""),
    "lower": ("values + c", "values - c"),
    "never played is poor": ("np.inf", "0.0"),
    "as if played once": ("counts > 0", "counts >= 0"),
    "nothing is returned": ("return", "_ ="),
}


def by_sums(values, counts, arm, reward):
    total = values[arm] * counts[arm] + reward
    counts[arm] = counts[arm] + 1
    values[arm] = total / counts[arm]


def by_weights(values, counts, arm, reward):
    here = np.arange(len(values)) == arm
    counts += here
    values += here * (reward - values) / np.maximum(counts, 1)


def by_probabilities(values, epsilon, chance):
    n = len(values)
    return chance.choice(n, p=np.full(n, epsilon / n) + (1 - epsilon) * np.eye(n)[np.argmax(values)])


def another(values, chance):
    return int((np.argmax(values) + 1 + chance.integers(len(values) - 1)) % len(values))


def in_a_loop(chosen, chances):
    total, found = 0.0, []
    for arm in chosen:
        total += max(chances) - chances[arm]
        found.append(total)
    return found


def by_table(chosen, chances):
    counts = np.cumsum(np.eye(len(chances))[chosen], axis=0)
    return counts @ (chances.max() - chances)


def one_by_one(values, counts, t, c):
    return [v + c * math.sqrt(math.log(t) / n) if n else math.inf for v, n in zip(values, counts, strict=True)]


def divided_by_0(values, counts, t, c):
    return values + c * (np.log(t) / counts) ** 0.5


UNUSUAL_CHOICES = {"by probabilities": by_probabilities, "the other half": (" < epsilon", " >= 1 - epsilon")}
ATTEMPTS = {
    "estimate": exercise("bandit", 0, "estimate", ESTIMATE, {"by the sum": by_sums, "by weights": by_weights}),
    "choose": exercise("bandit", 1, "choose", CHOOSE, UNUSUAL_CHOICES, another=another),
    "regret": exercise("bandit", 2, "regret", REGRET, {"in a loop": in_a_loop, "by a table": by_table}),
    "bounds": exercise(
        "bandit", 3, "bounds", BOUNDS, {"one by one": one_by_one, "the formula with 1 / 0": divided_by_0}
    ),
}
