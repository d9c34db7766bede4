import numpy as np

from tests.lessons.attempts import exercise

SUM = "shares[first == 1].sum()"
SLIPS = {
    "the mean weight": (SUM, "shares[first == 1].mean() if first.any() else 0.0"),
    "a list": (SUM, "shares * first"),
    "another rate": ("rate=1.0", "rate=0.1"),
    "nothing is returned": ("return w", "w"),
    "no probability": ("1 / (1 + np.exp(-seen @ w))", "seen @ w"),
}


def by_loop(w, seen, targets, rate=1.0):
    step = [0.0] * 4
    for o, q in zip(seen, targets, strict=True):
        p = np.exp(o @ w) / (1 + np.exp(o @ w))
        for k in range(4):
            step[k] += (p - q) * o[k] / len(seen)
    return [w[k] - rate * step[k] for k in range(4)]


RIGHT = {
    "single precision": (SUM, f"np.float32({SUM})"),
    "a count with weights": (SUM, "np.bincount(first, shares, 2)[1]"),
    "a dot product and a loop": {"target": lambda first, shares: float(first @ shares), "learned": by_loop},
}
ATTEMPTS = {"learning": exercise("search_teacher", 0, "target learned", SLIPS, RIGHT)}
