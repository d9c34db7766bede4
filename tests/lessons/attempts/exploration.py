import math

import numpy as np

from tests.lessons.attempts import exercise

CHOOSE = {
    "the other way round": ("< epsilon", "< 1 - epsilon"),
    "ties to the first": ("int(rng.choice(np.flatnonzero(values == values.max())))", "int(np.argmax(values))"),
    "never the best when exploring": (
        *("int(rng.integers(len(values)))", "int(rng.choice(np.delete(np.arange(len(values)), values.argmax())))"),
    ),
    "softmax": (
        "if rng",
        "p = np.exp(values / max(epsilon, 1e-3))\n    return rng.choice(len(p), p=p / p.sum())\n    if rng",
    ),
    "probabilities": ("if rng", "return np.full(len(values), 1 / len(values))\n    if rng"),
}
BONUS = {
    "divides by the count": ("(counts + 1)", "np.maximum(counts, 0)"),
    "a size written into it": ("return size", "return 2.0"),
    "counts itself": ("return size / (counts + 1)", "counts += 1\n    return size / counts"),
    "two best": ("np.max(values + bonus(counts, size))", "(values.max() + bonus(counts, size).max())"),
    "after the end": ("paid if over else ", ""),
}
SUM, MOVED = (
    "-np.sum(p * np.log(np.maximum(p, 1e-300)))",
    "scores + rate * (paid * of_policy + coefficient * of_entropy)",
)
ENTROPY = {
    "log 0 of math": (SUM, "-sum(q * math.log(q) for q in p)"),
    "less entropy": ("+ coefficient", "- coefficient"),
    "too large for math": ("p = np.exp(scores", "math.exp(max(scores))\n    p = np.exp(scores"),
    "towards the mean": ("+ coefficient * of_entropy)", ") + 0.1 * coefficient * (scores.mean() - scores)"),
    "in place": (f"return {MOVED}", f"scores += {MOVED} - scores\n    return scores"),
}


def by_probabilities(values, epsilon, rng):
    top = values >= values.max()
    return rng.choice(len(values), p=epsilon / len(values) + (1 - epsilon) * top / top.sum())


def by_shuffling(values, epsilon, rng):
    order = rng.permutation(len(values))
    return order[0] if rng.random() < epsilon else order[np.argmax(values[order])]


def by_hand(paid, values, counts, size, gamma, over):
    following = [value + size / (count + 1) for value, count in zip(values, counts, strict=True)]
    return paid + (0 if over else gamma * sorted(following)[-1])


def by_loop(scores, action, paid, coefficient, rate=1.0):
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    p = [power / sum(powers) for power in powers]
    undecided = -sum(q * math.log(q) for q in p if q > 0)
    moved = []
    for k, q in enumerate(p):
        bend = -q * (math.log(q) + undecided) if q > 0 else 0.0
        moved.append(scores[k] + rate * (paid * ((k == action) - q) + coefficient * bend))
    return moved


RIGHT_BONUS = {
    "by hand": {"bonus": lambda counts, size: [size / (count + 1) for count in counts], "promise": by_hand},
    "single precision": ("return paid if", "return np.float32(paid) if", "np.max(", "np.float32(1) * np.max("),
    "powers": lambda counts, size: size * (1 + counts) ** -1.0,
}
RIGHT_ENTROPY = {
    "a tiny number added": lambda p: -np.sum(p * np.log(p + 1e-6)),
    "a loop": {"entropy": lambda p: sum(-q * math.log(q) for q in p if q > 0), "stepped": by_loop},
    "what counts is picked": lambda p: float(np.log(1 / p[p > 0]) @ p[p > 0]),
}
RIGHT_CHOICE = {"one draw": by_probabilities, "in a shuffled order": by_shuffling}
ATTEMPTS = {
    "choose": exercise("exploration", 0, "choose", CHOOSE, RIGHT_CHOICE),
    "bonus": exercise("exploration", 1, "bonus promise", BONUS, RIGHT_BONUS),
    "entropy": exercise("exploration", 2, "entropy stepped", ENTROPY, RIGHT_ENTROPY),
}
