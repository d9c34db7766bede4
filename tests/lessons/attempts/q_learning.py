import numpy as np

from tests.lessons.attempts import exercise

UPDATE = {
    "as it is found": (" + promised", ""),
    "not written": ("values[cell, action] += ", "return values[cell, action] + "),
    "what was done": ("values[after].max()", "values[after, action]"),
    "beyond the end": ("0.0 if over else ", ""),
    "no share": ("alpha * ", ""),
}
DRAW = "self.rows[rng.integers(min(self.added, len(self.rows)), size=n)]"
REPLAY = {
    "empty rows": ("min(self.added, len(self.rows))", "len(self.rows)"),
    "whole numbers": ("np.zeros((capacity, numbers))", "np.zeros((capacity, numbers), int)"),
    "nothing once it has many": ("return self.rows", "if self.added < 8:\n            return self.rows"),
    "no ring": (" % len(self.rows)", ""),
    "numbers of different rows": (DRAW, "np.stack([rng.choice(column[: self.added], n) for column in self.rows.T], 1)"),
}
NEXT = "paid + gamma * (1 - over) * frozen.values(after).max(1)"
TARGETS = {
    "as it is found": (NEXT, "paid"),
    "beyond the end": ("(1 - over) * ", ""),
    "the largest of all": ("max(1)", "max()"),
    "the end pays nothing": (NEXT, "(1 - over) * (paid + gamma * frozen.values(after).max(1))"),
    "a row for each action": (NEXT, "paid[:, None] + gamma * (1 - over)[:, None] * frozen.values(after)"),
}
BUG = {
    "as it is found": ("- said)", "- said[:, None])"),
    "all actions": ("(wanted - said)", "(wanted[:, None] - net.values(seen))"),
    "the best action": ("- said)", "- net.values(seen).max(1))"),
    "the sum": ("np.mean", "np.sum"),
    "for each": ("np.mean", ""),
}
WHERE = (NEXT, "np.where(over > 0, paid, paid + gamma * frozen.values(after).max(1))")
MASK = ("- said)", "- (net.values(seen) * np.eye(2)[actions]).sum(1))")


def mixed(values, cell, action, paid, after, over, alpha, gamma):
    following = 0 if over else sorted(values[after])[-1]
    values[cell, action] = (1 - alpha) * values[cell, action] + alpha * (paid + gamma * following)


def by_mask(values, cell, action, paid, after, over, alpha, gamma):
    here = np.zeros(values.shape)
    here[cell, action] = alpha
    values += here * (paid + (not over) * gamma * values[after].max() - values)


class Listed:
    """Rows in a list that forgets the oldest."""

    def __init__(self, capacity, numbers):
        self.capacity, self.rows = capacity, []

    def add(self, rows):
        self.rows = (self.rows + [row.copy() for row in rows])[-self.capacity :]

    def draw(self, n, rng):
        return np.array([self.rows[k] for k in rng.integers(len(self.rows), size=n)])


class Shifted:
    """The newest rows are always at the end."""

    def __init__(self, capacity, numbers):
        self.rows, self.added = np.zeros((capacity, numbers)), 0

    def add(self, rows):
        self.rows = np.concatenate([self.rows, rows])[-len(self.rows) :]
        self.added = min(self.added + len(rows), len(self.rows))

    def draw(self, n, rng):
        return rng.choice(self.rows[-self.added :], n)


def one_by_one(frozen, paid, after, over, gamma):
    return [p + (0 if o else gamma * max(frozen.values(a[None])[0])) for p, a, o in zip(paid, after, over, strict=True)]


RIGHT_BUG = {"a column": ("(wanted - said)", "(wanted[:, None] - said[:, None])"), "a mask": MASK}
ATTEMPTS = {
    "update": exercise("q_learning", 0, "q_update", UPDATE, {"a mixture": mixed, "by a mask": by_mask}),
    "replay": exercise("q_learning", 1, "Replay", REPLAY, {"a list": Listed, "shifted": Shifted}),
    "targets": exercise("q_learning", 2, "targets", TARGETS, {"one by one": one_by_one, "where": WHERE}),
    "bug": exercise("q_learning", 3, "off targets", BUG, RIGHT_BUG),
}
