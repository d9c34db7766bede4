import random

import numpy as np

from dshq_widget.lessons.checks.experiment import _HOLDS, CLAIMS
from tests.lessons.attempts import exercise

BAND = {
    "90 %": ("[0.025, 0.975]", "[0.05, 0.95]"),
    "one of each draw too few": ("len(b)", "len(b) - 1", "len(a)", "len(a) - 1"),
    "the high end first": ("[0.025, 0.975]", "[0.975, 0.025]"),
    "one number": ("return np", "return float(np.mean(b) - np.mean(a))\n    return np"),
}

RIGHT = dict(_HOLDS)


def paired(a, b):
    n = min(len(a), len(b))
    ahead = np.array(b[:n]) - np.array(a[:n])
    return np.quantile(np.random.default_rng(1).choice(ahead, (10_000, n)).mean(axis=1), [0.025, 0.975])


def by_loop(a, b):
    """One draw after the other, as Python's own library has it; the ends are counted off a sorted list."""
    lots = random.Random(3)
    means = sorted(
        sum(lots.choices(b, k=len(b))) / len(b) - sum(lots.choices(a, k=len(a))) / len(a) for _ in range(10_000)
    )
    return [means[250], means[9749]]


def by_counts(a, b):
    """How often each seed is drawn, from the multinomial distribution."""
    rng = np.random.default_rng(2)
    drawn = [rng.multinomial(len(x), np.full(len(x), 1 / len(x)), 20_000) @ np.array(x) / len(x) for x in (a, b)]
    return tuple(np.percentile(drawn[1] - drawn[0], [2.5, 97.5]))


WRONG = {
    "nothing decided": {},
    "still None": dict.fromkeys(CLAIMS),
    "all the other way round": {letter: not holds for letter, holds in RIGHT.items()},
    "one of them the other way round": {**RIGHT, "b": not RIGHT["b"]},
    "words": dict.fromkeys(CLAIMS, "False"),
}
UNUSUAL = {
    "0 and 1": {letter: int(holds) for letter, holds in RIGHT.items()},
    "of numpy": {letter: np.bool_(holds) for letter, holds in RIGHT.items()},
}


def held(answers):
    return {name: {"holds": holds} for name, holds in answers.items()}


RIGHT_BAND = {"one draw after the other": by_loop, "counts of a multinomial": by_counts}
ATTEMPTS = {
    "band": exercise("experiment", 0, "band", {**BAND, "paired by number": paired}, RIGHT_BAND),
    "claims": exercise("experiment", 1, "holds", held(WRONG), held(UNUSUAL)),
}
