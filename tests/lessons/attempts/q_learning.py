import numpy as np

from tests.lessons.attempts import Attempts


def called(name, answers):
    """Answers to one exercise, by what `check` calls it."""
    return {what: {name: answer} for what, answer in answers.items()}


def corrected(target, share=lambda alpha: alpha):
    """An update with one slip: what the entry is moved towards, and by which share."""

    def q_update(values, cell, action, paid, after, over, alpha, gamma):
        aim = target(values, cell, action, paid, after, over, gamma)
        values[cell, action] += share(alpha) * (aim - values[cell, action])

    return q_update


def best(values, cell, action, paid, after, over, gamma):
    return paid + (not over) * gamma * values[after].max()


def not_written(values, cell, action, paid, after, over, alpha, gamma):
    return values[cell, action] + alpha * (best(values, cell, action, paid, after, over, gamma) - values[cell, action])


def mixed(values, cell, action, paid, after, over, alpha, gamma):
    following = 0 if over else sorted(values[after])[-1]
    values[cell, action] = (1 - alpha) * values[cell, action] + alpha * (paid + gamma * following)


def by_mask(values, cell, action, paid, after, over, alpha, gamma):
    aim = best(values, cell, action, paid, after, over, gamma)
    here = np.zeros(values.shape)
    here[cell, action] = alpha
    values += here * (aim - values)


class Ring:
    """A buffer that is right; the wrong ones change one method."""

    def __init__(self, capacity, numbers):
        self.rows, self.added = np.zeros((capacity, numbers)), 0

    def add(self, rows):
        self.rows[(self.added + np.arange(len(rows))) % len(self.rows)] = rows
        self.added += len(rows)

    def draw(self, n, rng):
        return self.rows[rng.integers(min(self.added, len(self.rows)), size=n)]


class Everywhere(Ring):
    def draw(self, n, rng):
        return self.rows[rng.integers(len(self.rows), size=n)]


class AtTheBeginning(Ring):
    def add(self, rows):
        self.rows[: len(rows)] = rows
        self.added += len(rows)


class NoRing(Ring):
    def add(self, rows):
        self.rows[self.added : self.added + len(rows)] = rows
        self.added += len(rows)


class DrawsNothing(Ring):
    def draw(self, n, rng):
        self.rows[rng.integers(min(self.added, len(self.rows)), size=n)]


class WholeNumbers(Ring):
    def __init__(self, capacity, numbers):
        self.rows, self.added = np.zeros((capacity, numbers), int), 0


class EndsFull(Ring):
    def draw(self, n, rng):
        return super().draw(n, rng) if self.added < 8 else None


class OneRow(Ring):
    def draw(self, n, rng):
        return self.rows[rng.integers(min(self.added, len(self.rows)))]


class Mixed(Ring):
    def draw(self, n, rng):
        return np.stack([rng.choice(column[: self.added], n) for column in self.rows.T], axis=1)


class Listed:
    """Rows in a list that forgets the oldest."""

    def __init__(self, capacity, numbers):
        self.capacity, self.rows = capacity, []

    def add(self, rows):
        self.rows = (self.rows + [row.copy() for row in rows])[-self.capacity :]

    def draw(self, n, rng):
        return np.array([self.rows[k] for k in rng.integers(len(self.rows), size=n)])


class Shifted(Ring):
    """The newest rows are always at the end."""

    def add(self, rows):
        self.rows = np.concatenate([self.rows, rows])[-len(self.rows) :]
        self.added = min(self.added + len(rows), len(self.rows))

    def draw(self, n, rng):
        return rng.choice(self.rows[-self.added :], n)


def aimed(give):
    """Targets with one slip, of pay, the values that follow, over and gamma."""
    return lambda frozen, paid, after, over, gamma: give(paid, frozen.values(after), over, gamma)


right = aimed(lambda paid, values, over, gamma: paid + gamma * (1 - over) * values.max(1))


def one_by_one(frozen, paid, after, over, gamma):
    return [p + (0 if o else gamma * max(frozen.values(a[None])[0])) for p, a, o in zip(paid, after, over, strict=True)]


def errors(give):
    """The error with one slip, of the values `[n, 2]`, the actions and the targets."""

    def off(net, frozen, rows, gamma):
        wanted = right(frozen, rows[:, 5], rows[:, 6:10], rows[:, 10], gamma)
        return give(net.values(rows[:, :4]), rows[:, 4].astype(int), wanted)

    return {"off": off, "targets": right}


def done(values, actions):
    return values[np.arange(len(actions)), actions]


ATTEMPTS = {
    "update": Attempts(
        called(
            "q_update",
            {
                "as it is found": corrected(lambda values, cell, action, paid, after, over, gamma: paid),
                "not written": not_written,
                "what was done": corrected(
                    lambda values, cell, action, paid, after, over, gamma: paid + gamma * values[after, action]
                ),
                "beyond the end": corrected(
                    lambda values, cell, action, paid, after, over, gamma: paid + gamma * values[after].max()
                ),
                "no share": corrected(best, lambda alpha: 1.0),
            },
        ),
        called("q_update", {"a mixture": mixed, "by a mask": by_mask}),
    ),
    "replay": Attempts(
        called(
            "Replay",
            {
                "empty rows": Everywhere,
                "whole numbers": WholeNumbers,
                "nothing once it has many": EndsFull,
                "at the beginning": AtTheBeginning,
                "no ring": NoRing,
                "numbers of different rows": Mixed,
                "one row": OneRow,
                "nothing is returned": DrawsNothing,
            },
        ),
        called("Replay", {"a list": Listed, "shifted": Shifted}),
    ),
    "targets": Attempts(
        called(
            "targets",
            {
                "as it is found": lambda frozen, paid, after, over, gamma: paid,
                "beyond the end": aimed(lambda paid, values, over, gamma: paid + gamma * values.max(1)),
                "the largest of all": aimed(lambda paid, values, over, gamma: paid + gamma * (1 - over) * values.max()),
                "the end pays nothing": aimed(
                    lambda paid, values, over, gamma: (1 - over) * (paid + gamma * values.max(1))
                ),
                "a row for each action": aimed(
                    lambda paid, values, over, gamma: paid[:, None] + gamma * (1 - over)[:, None] * values
                ),
            },
        ),
        called(
            "targets",
            {
                "one by one": one_by_one,
                "where": aimed(
                    lambda paid, values, over, gamma: np.where(over > 0, paid, paid + gamma * values.max(1))
                ),
            },
        ),
    ),
    "bug": Attempts(
        {
            "as it is found": errors(
                lambda values, actions, wanted: np.mean((wanted - done(values, actions)[:, None]) ** 2)
            ),
            "all actions": errors(lambda values, actions, wanted: np.mean((wanted[:, None] - values) ** 2)),
            "the best action": errors(lambda values, actions, wanted: np.mean((wanted - values.max(1)) ** 2)),
            "the sum": errors(lambda values, actions, wanted: np.sum((wanted - done(values, actions)) ** 2)),
            "for each": errors(lambda values, actions, wanted: (wanted - done(values, actions)) ** 2),
        },
        {
            "a column": errors(
                lambda values, actions, wanted: np.mean((wanted[:, None] - done(values, actions)[:, None]) ** 2)
            ),
            "a mask": errors(
                lambda values, actions, wanted: np.mean(((values * np.eye(2)[actions]).sum(1) - wanted) ** 2)
            ),
        },
    ),
}
