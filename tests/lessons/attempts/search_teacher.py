import numpy as np

from dshq_widget.lessons.checks.search_teacher import slope
from tests.lessons.attempts import Attempts


def target(first, shares):
    return shares[first == 1].sum()


def learned(w, seen, targets, rate=1.0, way=-1.0):
    return w + way * rate * slope(w, seen, targets)


def by_loop(w, seen, targets, rate=1.0):
    step = [0.0] * 4
    for o, q in zip(seen, targets, strict=True):
        p = np.exp(o @ w) / (1 + np.exp(o @ w))
        for k in range(4):
            step[k] += (p - q) * o[k] / len(seen)
    return [w[k] - rate * step[k] for k in range(4)]


def steps(value, change):
    return {"target": value, "learned": change}


ATTEMPTS = {
    "learning": Attempts(
        {
            "half": steps(lambda first, shares: 0.5, learned),
            "weight of the others": steps(lambda first, shares: shares[first == 0].sum(), learned),
            "counts": steps(lambda first, shares: np.mean(first), learned),
            "the mean weight": steps(lambda first, shares: shares[first == 1].mean() if first.any() else 0.0, learned),
            "a list": steps(lambda first, shares: shares * first, learned),
            "no target is returned": steps(lambda first, shares: None, learned),
            "stays": steps(target, lambda w, seen, targets, rate=1.0: w),
            "up the gradient": steps(target, lambda *given: learned(*given, way=1.0)),
            "the sum": steps(target, lambda w, seen, *rest: w - len(seen) * (w - learned(w, seen, *rest))),
            "no rate": steps(target, lambda w, seen, targets, rate=1.0: learned(w, seen, targets)),
            "another rate": steps(target, lambda w, seen, targets, rate=0.1: learned(w, seen, targets, rate)),
            "nothing is returned": steps(target, lambda *given: None),
            "the gradient": steps(target, lambda w, seen, targets, rate=1.0: slope(w, seen, targets)),
            "no probability": steps(
                target, lambda w, seen, targets, rate=1.0: w - rate * ((seen @ w - targets) @ seen) / len(seen)
            ),
            "one number": steps(target, lambda *given: float(learned(*given).sum())),
        },
        {
            "a dot product and a loop": steps(lambda first, shares: float(first @ shares), by_loop),
            "single precision": steps(lambda *given: np.float32(target(*given)), learned),
            "a count with weights": steps(lambda first, shares: np.bincount(first, shares, 2)[1], learned),
        },
    ),
}
