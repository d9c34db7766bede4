"""Whether a bootstrap band is one, and what given results support."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

GAMES = 500
"""Behind every number of `RESULTS`."""
RESULTS: dict[str, tuple[float, ...]] = {
    "A": (0.91, 0.93, 0.90, 0.94, 0.92),
    "B": (0.97, 0.95, 0.96, 0.98, 0.96),
    "C": (0.99, 0.42, 0.98, 0.97, 0.99),
    "D": (0.95,),
}
"""Share of `GAMES` games won, one number per seed; made up for the exercise."""


class Claim(NamedTuple):
    """A sentence about `RESULTS`, and what to look at."""

    text: str
    hint: str


CLAIMS: dict[str, Claim] = {
    "a": Claim(
        "On this drill and with this many decisions, B learns better than A.",
        "is 0 inside the band of mean(B) - mean(A)?",
    ),
    "b": Claim(
        "C learns worse than A: its mean is lower.",
        "is 0 inside the band of mean(C) - mean(A)? Which single run makes the mean what it is?",
    ),
    "c": Claim(
        "The player that D's only run made wins more than nine games of ten.",
        "this is about one player, not about a method: `wilson(475, 25)`.",
    ),
    "d": Claim(
        "D is a better method than A: 0.95 is more than 0.92, and 500 games are many.",
        "how many seeds of D are there?",
    ),
    "e": Claim(
        "C is the best method: no other reached 0.99.",
        "what would a user get who trains C once?",
    ),
    "f": Claim(
        "With another drill B would be ahead of A, too.",
        "on how many drills was anything measured?",
    ),
}
"""By letter, as the exercise prints them."""
_HOLDS = {letter: letter in "ac" for letter in CLAIMS}
"""Whether `RESULTS` support them. The lesson hands out the claims, and an answer may take nothing private."""
TRIALS = (
    ((0.211, 0.823, 0.507, 0.634), (0.317, 0.449, 0.102, 0.288, 0.971, 0.713)),
    ((0.911, 0.937, 0.902, 0.949, 0.923), (0.974, 0.951, 0.969, 0.983, 0.938)),
)
"""Seeds of two methods on which a band is tried."""
SLACK = 0.035
"""Share of a band's width by which its ends may miss. 10,000 draws miss by 0.007 (one standard deviation); a 90 % band
misses by 0.08, one of a draw too few by 0.06."""
DONE = (
    "You can say what numbers support and what they do not, with a band around it. That is rarer than a good learning "
    "curve."
)


def missing(
    band: Callable[[Sequence[float], Sequence[float]], tuple[float, float]] | None = None,
    *,
    holds: Mapping[str, bool | None] | None = None,
) -> list[str]:
    """What the answers to the first and the second exercise lack, as far as they are given."""
    found: list[str] = []
    if band is not None:
        found += _band(band)
    if holds is not None:
        found += _claims(holds)
    return found


def _reference(a: Sequence[float], b: Sequence[float], draws: int = 40_000) -> tuple[float, float]:
    """The 95 % percentile bootstrap of mean(b) - mean(a): Efron and Tibshirani, 1993, chapter 13."""
    rng = np.random.default_rng(10)
    means = [rng.choice(np.asarray(x), (draws, len(x))).mean(axis=1) for x in (a, b)]
    low, high = np.quantile(means[1] - means[0], [0.025, 0.975])
    return float(low), float(high)


def _band(band: Callable[[Sequence[float], Sequence[float]], Any]) -> list[str]:
    for a, b in TRIALS:
        answer = band(a, b)
        if answer is None:
            return ["`band` returns nothing: it should return two numbers, the low and the high end."]
        given = np.asarray(answer, np.float64)
        if given.shape != (2,) or not np.isfinite(given).all():
            return ["`band` should return two numbers, the low and the high end."]
        low, high = given
        wanted = _reference(a, b)
        width = wanted[1] - wanted[0]
        if low == high:
            return ["The band has no width: draw seeds with replacement, and look at how the difference wobbles."]
        if low > high:
            return ["The low end comes first."]
        if abs(low + wanted[1]) < SLACK * width and abs(high + wanted[0]) < SLACK * width:
            return ["This is how far `a` is above `b`; wanted is how far `b` is above `a`."]
        if max(abs(low - wanted[0]), abs(high - wanted[1])) > SLACK * width:
            mirrored = 2 * (np.mean(b) - np.mean(a)) - np.array(wanted[::-1])
            if np.abs(given - mirrored).max() < SLACK * width:
                return [
                    "These are the ends mirrored at the difference itself: the basic bootstrap, a good one, too. "
                    "The percentile bootstrap is asked for: the two quantiles as they are."
                ]
            how = "wide" if high - low > width else "narrow"
            return [
                f"For {a} and {b} your band goes from {low:.3f} to {high:.3f}, which is too {how} or beside the point: "
                "as many draws as each has seeds, the difference of the two means, and of 10,000 such differences the "
                "quantiles 0.025 and 0.975."
            ]
    return []


def _claims(holds: Mapping[str, bool | None]) -> list[str]:
    if undecided := [letter for letter in CLAIMS if holds.get(letter) is None]:
        return [f"({letter}) is not decided yet." for letter in undecided]
    wrong = sum(bool(holds[letter]) != right for letter, right in _HOLDS.items())
    if not wrong:
        return []
    what = "one of them is" if wrong == 1 else f"{wrong} of them are"
    return [
        f"Of the {len(CLAIMS)} claims {what} judged wrong. Which, the numbers say. What to look at:",
        *(f"({letter}) {claim.hint}" for letter, claim in CLAIMS.items()),
    ]
