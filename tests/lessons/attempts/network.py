import numpy as np

from tests.lessons.attempts import Attempts


def called(name, answers):
    """Answers to one exercise, by what `check` calls it."""
    return {what: {name: answer} for what, answer in answers.items()}


def of_line(give):
    """A loss with one slip, of what the line is off by."""
    return lambda weights, x, y: give(weights[0] * x + weights[1] - y)


def nudging(give, step=lambda size: size):
    """Slopes with one slip: what is made of the losses after a nudge up and a nudge down."""

    def slopes(function, weights, size=1e-4):
        found = np.zeros(weights.shape)
        for place in np.ndindex(weights.shape):
            up, down = weights.copy(), weights.copy()
            up[place] += step(size)
            down[place] -= step(size)
            found[place] = give(function(up), function(down), step(size))
        return found

    return slopes


measured = nudging(lambda up, down, size: (up - down) / (2 * size))


def all_at_once(function, weights, size=1e-4):
    change = (function(weights + size) - function(weights - size)) / (2 * size)
    return np.full(weights.shape, change)


def spoils(function, weights, size=1e-4):
    found = measured(function, weights, size)
    weights += size
    return found


def to_one_side(function, weights, size=1e-4):
    here, flat = function(weights), np.asarray(weights, float).ravel()
    rows = [function((flat + size * row).reshape(weights.shape)) - here for row in np.eye(flat.size)]
    return (np.array(rows) / size).reshape(weights.shape)


def by_mask(function, weights, size=1e-4):
    found = np.empty(weights.shape)
    it = np.nditer(weights, flags=["multi_index"])
    for _ in it:
        one = np.zeros(weights.shape)
        one[it.multi_index] = size
        found[it.multi_index] = (function(weights + one) - function(weights - one)) / size / 2
    return found


def stepping(move, repeat=lambda steps: steps):
    """A descent with one slip."""

    def descend(function, weights, rate, steps):
        for _ in range(repeat(steps)):
            weights = move(weights, measured(function, weights), rate)
        return weights

    return descend


def old_slopes(function, weights, rate, steps):
    return weights - steps * rate * measured(function, weights)


def in_place(function, weights, rate, steps):
    for _ in range(steps):
        weights -= rate * measured(function, weights)
    return weights


def recursive(function, weights, rate, steps):
    if steps == 0:
        return weights
    return recursive(function, weights - rate * measured(function, weights), rate, steps - 1)


def kept(function, weights, rate, steps):
    path = [np.array(weights, float)]
    while len(path) <= steps:
        path.append(path[-1] - rate * to_one_side(function, path[-1], 1e-6))
    return path[-1]


def units(give):
    """A network with one slip, of x, w, b and v."""
    return lambda weights, x: give(x, *weights.T)


def one_by_one(weights, x):
    return [sum(v * np.tanh(w * place + b) for w, b, v in weights) for place in x]


ATTEMPTS = {
    "loss": Attempts(
        called(
            "loss",
            {
                "as it is found": lambda weights, x, y: np.mean(y),
                "not squared": of_line(np.mean),
                "the sum": of_line(lambda off: np.sum(off**2)),
                "distances": of_line(lambda off: np.abs(off).mean()),
                "for each place": of_line(lambda off: off**2),
            },
        ),
        called(
            "loss",
            {
                "a product": of_line(lambda off: off @ off / len(off)),
                "the norm": lambda weights, x, y: np.linalg.norm(np.polyval(weights, x) - y) ** 2 / len(x),
            },
        ),
    ),
    "slopes": Attempts(
        called(
            "slopes",
            {
                "as it is found": nudging(lambda up, down, size: up),
                "not divided": nudging(lambda up, down, size: up - down),
                "divided by one nudge": nudging(lambda up, down, size: (up - down) / size),
                "all weights at once": all_at_once,
                "changes its weights": spoils,
            },
        ),
        called("slopes", {"to one side": to_one_side, "by masks": by_mask}),
    ),
    "descend": Attempts(
        called(
            "descend",
            {
                "stays": lambda function, weights, rate, steps: weights,
                "climbs": stepping(lambda weights, slope, rate: weights + rate * slope),
                "one step": stepping(lambda weights, slope, rate: weights - rate * slope, lambda steps: min(steps, 1)),
                "old slopes": old_slopes,
                "in place": in_place,
            },
        ),
        called("descend", {"by itself": recursive, "the whole path": kept}),
    ),
    "network": Attempts(
        called(
            "network",
            {
                "a line": units(lambda x, w, b, v: w.sum() * x + b.sum()),
                "no bend": units(lambda x, w, b, v: (np.outer(x, w) + b) @ v),
                "all count alike": units(lambda x, w, b, v: np.tanh(np.outer(x, w) + b).sum(1)),
                "one bend": units(lambda x, w, b, v: np.tanh((np.outer(x, w) + b) @ v)),
                "unit by unit": units(lambda x, w, b, v: np.tanh(np.outer(x, w) + b) * v),
            },
        ),
        called(
            "network",
            {
                "one by one": one_by_one,
                "products": lambda weights, x: np.einsum(
                    "u,nu->n", weights[:, 2], np.tanh(x[:, None] * weights[:, 0] + weights[:, 1])
                ),
            },
        ),
    ),
}
