import numpy as np

from tests.lessons.attempts import exercise

WINDOW = {
    "as it is found": ("padded = ", "return np.tile(seen, (1, n))\n    padded = "),
    "turned": ("in range(n)", "in reversed(range(n))"),
    "the first repeated": ("np.zeros((n - 1, seen.shape[1]))", "np.repeat(seen[:1], n - 1, axis=0)"),
    "wraps around": ("padded[k : k + len(seen)]", "np.roll(seen, n - 1 - k, axis=0)"),
    "the last rows": ("padded = ", "return seen[-n:]\n    padded = "),
}
KEPT = "kept / (1 + np.exp(-x @ keep))"
CELL = {
    "as it is found": (f"{KEPT} + ", ""),
    "all is kept": (KEPT, "kept"),
    "a mixture": ("np.tanh(x @ write)", "np.tanh(x @ write) / (1 + np.exp(x @ keep))"),
    "one bend for all": (f"{KEPT} + np.tanh(x @ write)", f"np.tanh({KEPT} + x @ write)"),
    "in place": ("return kept", "kept *= 0.5\n    return kept"),
}


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


DESIGN = {
    "as it is found": weighed([0, 0, 0], [0.5, 0, 0]),
    "nothing is written": weighed([0, 0, 5], [0, 0, 0]),
    "the wrong side": weighed([0, 0, 5], [-2, 0, 0]),
    "writes in the dark": weighed([0, 0, 5], [2, 0, 1]),
    "the gong shouts": weighed([0, 0, 3], [0.2, 9, 0]),
}
RIGHT_DESIGN = {
    "keeps in the dark alone": weighed([0, 3, 6], [1, 0, 0]),
    "weak, and read loudly": lambda: [[0, 0, 9], [0.4, 0, 0]],
}
ATTEMPTS = {
    "window": exercise("memory", 0, "stacked", WINDOW, {"loops": by_loops, "filled in": filled_in}),
    "cell": exercise("memory", 1, "cell", CELL, {"one by one": one_by_one, "sigma by tanh": half_tanh}),
    "design": exercise("memory", 2, "design", DESIGN, RIGHT_DESIGN),
}
