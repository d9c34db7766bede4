import numpy as np

from dshq_widget.lessons.checks.memory import sigmoid, window
from tests.lessons.attempts import Attempts


def called(name, answers):
    """Answers to one exercise, by what `check` calls it."""
    return {what: {name: answer} for what, answer in answers.items()}


def turned(seen, n):
    return np.concatenate(np.split(window(seen, n), n, axis=1)[::-1], axis=1)


def repeated_first(seen, n):
    padded = np.concatenate([np.repeat(seen[:1], n - 1, axis=0), seen])
    return np.concatenate([padded[k : k + len(seen)] for k in range(n)], axis=1)


def wrapped(seen, n):
    return np.concatenate([np.roll(seen, n - 1 - k, axis=0) for k in range(n)], axis=1)


def by_loops(seen, n):
    rows = []
    for t in range(len(seen)):
        row = []
        for k in range(t - n + 1, t + 1):
            row += list(seen[k]) if k >= 0 else [0.0] * seen.shape[1]
        rows.append(row)
    return rows


def filled_in(seen, n):
    made = np.zeros((len(seen), n, seen.shape[1]))
    for back in range(min(n, len(seen))):
        made[back:, n - 1 - back] = seen[: len(seen) - back]
    return made.reshape(len(seen), -1)


def celled(give):
    """A cell with one slip, of gate, what was kept and what is written, before the bend."""

    def cell(weights, kept, seen):
        x = np.column_stack([seen, np.ones(len(seen))])
        return give(sigmoid(x @ weights[0]), kept, x @ weights[1])

    return cell


def in_place(weights, kept, seen):
    kept *= 0.5
    return celled(lambda gate, old, z: gate * old + np.tanh(z))(weights, kept, seen)


def one_by_one(weights, kept, seen):
    (a, b, c), (d, e, f) = weights
    return [
        h / (1 + np.exp(-(a * lamp + b * gong + c))) + np.tanh(d * lamp + e * gong + f)
        for h, (lamp, gong) in zip(kept, seen, strict=True)
    ]


def half_tanh(weights, kept, seen):
    x = np.concatenate([seen, np.ones((len(seen), 1))], axis=1)
    return kept * (1 + np.tanh(x @ weights[0] / 2)) / 2 + np.tanh(x @ weights[1])


def weighed(keep, write):
    return lambda: np.array([keep, write], float)


ATTEMPTS = {
    "window": Attempts(
        called(
            "stacked",
            {
                "as it is found": lambda seen, n: np.tile(seen, (1, n)),
                "turned": turned,
                "the first repeated": repeated_first,
                "wraps around": wrapped,
                "the last rows": lambda seen, n: seen[-n:],
            },
        ),
        called("stacked", {"loops": by_loops, "filled in": filled_in}),
    ),
    "cell": Attempts(
        called(
            "cell",
            {
                "as it is found": celled(lambda gate, kept, z: np.tanh(z)),
                "all is kept": celled(lambda gate, kept, z: kept + np.tanh(z)),
                "a mixture": celled(lambda gate, kept, z: gate * kept + (1 - gate) * np.tanh(z)),
                "one bend for all": celled(lambda gate, kept, z: np.tanh(gate * kept + z)),
                "in place": in_place,
            },
        ),
        called("cell", {"one by one": one_by_one, "sigma by tanh": half_tanh}),
    ),
    "design": Attempts(
        called(
            "design",
            {
                "as it is found": weighed([0, 0, 0], [0.5, 0, 0]),
                "nothing is written": weighed([0, 0, 5], [0, 0, 0]),
                "the wrong side": weighed([0, 0, 5], [-2, 0, 0]),
                "writes in the dark": weighed([0, 0, 5], [2, 0, 1]),
                "the gong shouts": weighed([0, 0, 3], [0.2, 9, 0]),
            },
        ),
        called(
            "design",
            {
                "keeps in the dark alone": weighed([0, 3, 6], [1, 0, 0]),
                "weak, and read loudly": lambda: [[0, 0, 9], [0.4, 0, 0]],
            },
        ),
    ),
}
