import numpy as np

from tests.lessons.attempts import exercise

RETURNS = {
    "not discounted": ("gamma * ", ""),
    "looks back": ("reversed(range(len(rewards)))", "range(len(rewards))"),
    "only the first": ("return found", "return found[0]"),
    "in place": ("np.zeros(len(rewards))", "rewards.copy()"),
    "a number written into it": ("gamma * following", "0.8 * following"),
}
ONE_STEP = {
    "nothing expected": (" - values[cell]\n", "\n"),
    "changes nothing": ("values[cell] + alpha * error", "values[cell]"),
    "the wrong cell": ("values[cell] = values[cell] +", "values[beyond] = values[cell] +"),
    "gamma for alpha": ("alpha * error", "gamma * error"),
    "nothing is returned": ("return error", "pass"),
}
BELLMAN = {
    "the best way": ("mean", "max"),
    "a value at the target": ("    new[target] = 0.0\n", ""),
    "the last cell for the target": ("new[target]", "new[-1]"),
    "changes its values": ("return new", "values[:] = new\n    return values"),
    "a row for each way": (".mean(axis=1)\n    new[target] = 0.0", ""),
}
PLAN = {
    "the worst": ("argmax", "argmin"),
    "what it is worth": ("argmax", "max"),
    "values alone": ("paid + ", ""),
    "not discounted": ("gamma * ", ""),
    "from 1 to 4": ("argmax(axis=1)", "argmax(axis=1) + 1"),
}
ANYTHING_AT_THE_TARGET = (
    "return (",
    "ways = (",
    "argmax(axis=1)",
    "argmax(axis=1)\n    ways[target] = 3\n    return ways",
)


def by_definition(rewards, gamma):
    n = len(rewards)
    return [sum(gamma ** (k - t) * rewards[k] for k in range(t, n)) for t in range(n)]


def by_matrix(rewards, gamma):
    """Returns solve G - gamma G' = r."""
    return np.linalg.solve(np.eye(len(rewards)) - gamma * np.eye(len(rewards), k=1), rewards)


def weighted(values, cell, reward, beyond, alpha, gamma):
    """The new value as a mean of old and new."""
    before, seen = float(values[cell]), reward + gamma * values[beyond]
    values[cell] = (1 - alpha) * before + alpha * seen
    return np.array(seen - before)


def cell_by_cell(values, after, target, gamma):
    return [
        0.0 if cell == target else sum(1.0 if to == target else gamma * values[to] for to in ways) / 4
        for cell, ways in enumerate(after)
    ]


def by_a_matrix(values, after, target, gamma):
    moves = np.eye(len(values))[after].mean(1)
    new = moves[:, target] + gamma * moves @ values
    return np.where(np.arange(len(values)) == target, 0, new)


def last_of_equals(values, after, target, gamma):
    worth = (after == target) + gamma * values[after]
    return [3 - int(np.argmax(row[::-1])) for row in worth]


RIGHT_RETURNS = {"the definition": by_definition, "a system of equations": by_matrix}
RIGHT_STEP = {"a weighted mean": weighted, "a number of Python": ("return error", "return float(error)")}
RIGHT_PLAN = {
    "the last of equals": last_of_equals,
    "sorted": ("argmax(axis=1)", "argsort(axis=1)[:, -1]"),
    "anything at the target": ANYTHING_AT_THE_TARGET,
}
RIGHT_ROUND = {"cell by cell": cell_by_cell, "a matrix of moves": by_a_matrix}
ATTEMPTS = {
    "returns": exercise("values", 0, "returns", RETURNS, RIGHT_RETURNS),
    "one step": exercise("values", 1, "td_update", ONE_STEP, RIGHT_STEP),
    "Bellman": exercise("values", 2, "bellman", BELLMAN, RIGHT_ROUND),
    "plan": exercise("values", 3, "best_ways", PLAN, RIGHT_PLAN),
}
