import random

import numpy as np

from dshq_widget.lessons.checks.experiment import CLAIMS
from tests.lessons.attempts import Attempts, one

RIGHT = {letter: claim.holds for letter, claim in CLAIMS.items()}


def band(a, b, *, ends=(0.025, 0.975), fewer=0, measure=np.mean, draws=10_000):
    rng = np.random.default_rng(1)
    ahead = measure(rng.choice(b, (draws, len(b) - fewer)), axis=1)
    return np.quantile(ahead - measure(rng.choice(a, (draws, len(a) - fewer)), axis=1), ends)


def paired(a, b):
    n = min(len(a), len(b))
    ahead = np.array(b[:n]) - np.array(a[:n])
    return np.quantile(np.random.default_rng(1).choice(ahead, (10_000, n)).mean(axis=1), [0.025, 0.975])


def pooled(a, b):
    both = np.concatenate([a, b])
    rng = np.random.default_rng(1)
    ahead = rng.choice(both, (10_000, len(b))).mean(axis=1) - rng.choice(both, (10_000, len(a))).mean(axis=1)
    return np.quantile(ahead, [0.025, 0.975])


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


def but(**said):
    return {**RIGHT, **said}


def claims(answers):
    return {name: {"holds": holds} for name, holds in answers.items()}


ATTEMPTS = {
    "band": Attempts(
        one(
            {
                "90 %": lambda a, b: band(a, b, ends=(0.05, 0.95)),
                "99 %": lambda a, b: band(a, b, ends=(0.005, 0.995)),
                "one of each draw too few": lambda a, b: band(a, b, fewer=1),
                "of medians": lambda a, b: band(a, b, measure=np.median),
                "turned round": lambda a, b: -band(a, b)[::-1],
                "the high end first": lambda a, b: band(a, b)[::-1],
                "no width": lambda a, b: (np.mean(b) - np.mean(a),) * 2,
                "from the least to the most": lambda a, b: (min(b) - max(a), max(b) - min(a)),
                "paired by number": paired,
                "all seeds in one": pooled,
                "two deviations of single runs": lambda a, b: (
                    np.mean(b) - np.mean(a) - 2 * np.hypot(np.std(a), np.std(b)),
                    np.mean(b) - np.mean(a) + 2 * np.hypot(np.std(a), np.std(b)),
                ),
                "one number": lambda a, b: float(np.mean(b) - np.mean(a)),
                "the middle and the width": lambda a, b: (band(a, b).mean(), float(np.ptp(band(a, b)))),
                "nothing is returned": lambda a, b: None,
            }
        ),
        one({"one draw after the other": by_loop, "counts of a multinomial": by_counts}),
    ),
    "claims": Attempts(
        claims(
            {
                "nothing decided": {},
                "still None": dict.fromkeys(CLAIMS),
                "all of them": dict.fromkeys(CLAIMS, True),
                "none of them": dict.fromkeys(CLAIMS, False),
                "all the other way round": {letter: not holds for letter, holds in RIGHT.items()},
                **{f"({letter}) the other way round": but(**{letter: not RIGHT[letter]}) for letter in CLAIMS},
                "words": dict.fromkeys(CLAIMS, "False"),
            }
        ),
        claims(
            {
                "0 and 1": {letter: int(holds) for letter, holds in RIGHT.items()},
                "of numpy": {letter: np.bool_(holds) for letter, holds in RIGHT.items()},
            }
        ),
    ),
}
