import numpy as np

from tests.lessons.attempts import changed, exercise

LOSS = {
    "as it is found": ("(w * x + b - y) ** 2", "y"),
    "not squared": (" ** 2", ""),
    "the sum": ("np.mean", "np.sum"),
    "distances": ("(w * x + b - y) ** 2", "abs(w * x + b - y)"),
    "for each place": ("np.mean", ""),
}
SLOPES = {
    "as it is found": ("(function(up) - function(down)) / (2 * size)", "function(up)"),
    "not divided": (" / (2 * size)", ""),
    "divided by one nudge": ("(2 * size)", "size"),
    "all weights at once": ("up[place]", "up", "down[place]", "down"),
    "changes its weights": ("return found", "weights += size\n    return found"),
}
DESCEND = {
    "stays": ("weights - rate * slopes(function, weights)", "weights"),
    "climbs": ("weights - rate", "weights + rate"),
    "one step": ("range(steps)", "range(min(steps, 1))"),
    "old slopes": ("for _ in range(steps):", "if True:", "weights - rate", "weights - steps * rate"),
    "in place": ("weights = weights - rate", "weights -= rate"),
}
NETWORK = {
    "a line": ("np.tanh(np.outer(x, w) + b) @ v", "w.sum() * x + b.sum()"),
    "no bend": ("np.tanh", ""),
    "all count alike": (" @ v", ".sum(1)"),
    "one bend": ("np.tanh(np.outer(x, w) + b) @ v", "np.tanh((np.outer(x, w) + b) @ v)"),
    "unit by unit": (" @ v", " * v"),
}
slopes = changed("network", 1, "slopes")["slopes"]


def by_norm(weights, x, y):
    return np.linalg.norm(np.polyval(weights, x) - y) ** 2 / len(x)


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


def recursive(function, weights, rate, steps):
    if steps == 0:
        return weights
    return recursive(function, weights - rate * slopes(function, weights), rate, steps - 1)


def kept(function, weights, rate, steps):
    path = [np.array(weights, float)]
    while len(path) <= steps:
        path.append(path[-1] - rate * to_one_side(function, path[-1], 1e-6))
    return path[-1]


def one_by_one(weights, x):
    return [sum(v * np.tanh(w * place + b) for w, b, v in weights) for place in x]


def products(weights, x):
    return np.einsum("u,nu->n", weights[:, 2], np.tanh(x[:, None] * weights[:, 0] + weights[:, 1]))


RIGHT_LOSS = {"a product": ("** 2", "@ (w * x + b - y) / len(x)"), "the norm": by_norm}
ATTEMPTS = {
    "loss": exercise("network", 0, "loss", LOSS, RIGHT_LOSS),
    "slopes": exercise("network", 1, "slopes", SLOPES, {"to one side": to_one_side, "by masks": by_mask}),
    "descend": exercise("network", 2, "descend", DESCEND, {"by itself": recursive, "the whole path": kept}),
    "network": exercise("network", 3, "network", NETWORK, {"one by one": one_by_one, "products": products}),
}
