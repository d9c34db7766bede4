"""Tests whether a policy's strength fell to three quarters of a reference's, with a false-alarm rate for whole runs.

*Strength* is the expected points per match against one pinned opponent (a win 1, a draw 1/2). A round's matches only
raise a suspicion, which costs nothing but matches. What decides are fresh pairs of matches, one of the policy and one
of the reference, that neither chose the reference nor raised the suspicion: so no record is flattered by selection.

Suspicion is E. Page's cumulative sum ("Continuous inspection schemes", Biometrika 1954) of the log-likelihood ratio of
strength `FALL` x r against r, where r is estimated from all independent matches of the reference.

The test is sequential. Null hypothesis: the policy is at least as strong as the reference. With a = `FALL` x r, b = r
and m = (a + b) / 2 a pair's points (x of the policy, y of the reference) multiply the evidence E by

    (a/m)^x ((1-a)/(1-m))^(1-x) (b/m)^y ((1-b)/(1-m))^(1-y),

the two-sample E-variable of R. Turner, A. Ly and P. Grünwald, "Generic E-variables for exact sequential k-sample
tests", 2024. Where both have the same strength s, its expectation is at most 1 - (s-m)^2 ((b-m)/(m(1-m)))^2 <= 1,
whatever r was estimated to be: the factors are linear in s, a draw counts as the geometric mean of a win and a loss,
which is at most their arithmetic mean, and a stronger policy only lowers it. So E is a supermartingale, and by
J. Ville's inequality ("Étude critique de la notion de collectif", 1939) a test that rejects at E >= 1/alpha is wrong
with probability alpha at most, however many pairs it plays. Test n = 0, 1, ... of a run spends

    alpha_n = FALSE_ALARMS x SPREAD / ((SPREAD + n) (SPREAD + n + 1)),   and all of them together FALSE_ALARMS:

that bounds the share of runs, of any length, in which a policy that is as strong as ever is found to have fallen. The
further condition that the policy made at most `MIDDLE` of the reference's points can only lower it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

FALL = 0.75
"""The share of the reference's strength at which the tests aim."""
MIDDLE = (1 + FALL) / 2
"""Halfway to a fall. Whoever makes more than this share of the reference's points has not fallen, however sure it is
that there is a difference: near a strength of 1 much smaller ones are soon certain."""
FALSE_ALARMS = 0.001
"""Largest share of runs with a false alarm (assumed)."""
SPREAD = 64
"""Tests over which the first half of the false alarms is spread, roughly evenly (assumed; a healthy run of 1,000 rounds
makes 0 to 190, the fewer the stronger it is: measured)."""
SUSPICION = 1.0
"""Evidence for a fall, in nats, from which a test is made (assumed)."""
FUTILE = 3.0
"""A test ends without a finding at this much evidence against a fall, in nats; of real falls it misses e^-3, 5 %, a
round."""
PAIRS, BATCHES = 128, 32
"""Pairs of matches in a batch, and batches of a test at most: weak references need most of them."""
WORTH = 0.25
"""A reference with fewer points per match against an opponent is not tested there: there is little to lose, and a
fall would take too many matches to find."""


class Score:
    """Independent matches of one policy with each pinned opponent."""

    def __init__(self, points: Sequence[float], matches: Sequence[int]) -> None:
        self.points, self.matches = list(points), list(matches)

    def strength(self, opponent: int) -> float:
        """Points per match with the pinned opponent of that place, drawn a little towards 1/2: in (0, 1)."""
        return (self.points[opponent] + 0.5) / (self.matches[opponent] + 1)

    @property
    def share(self) -> float:
        """Mean over the opponents of the points per match."""
        return sum(p / n for p, n in zip(self.points, self.matches, strict=True)) / len(self.points)

    def add(self, opponent: int, points: float, matches: int) -> None:
        """More matches with one opponent."""
        self.points[opponent] += points
        self.matches[opponent] += matches


def log_ratio(points: float, matches: int, one: float, other: float) -> float:
    """Logarithm of the likelihood of `points` in `matches` at strength `one` over that at strength `other`, in nats."""
    return points * math.log(one / other) + (matches - points) * math.log((1 - one) / (1 - other))


def fallen(points: float, matches: int, strength: float) -> float:
    """Evidence in nats that who made `points` in `matches` has `FALL` of `strength` rather than all of it; none where
    `strength` is below `WORTH`.
    """
    return log_ratio(points, matches, FALL * strength, strength) if strength >= WORTH else 0.0


class FallTest:
    """Suspicions against each pinned opponent, and the tests made so far."""

    def __init__(self, opponents: int) -> None:
        self.tests = 0
        self.suspicion = [0.0] * opponents
        """In nats, from 0 to `SUSPICION`."""

    @property
    def level(self) -> float:
        """Largest probability that the next test is wrong."""
        return FALSE_ALARMS * SPREAD / ((SPREAD + self.tests) * (SPREAD + self.tests + 1))

    @property
    def calm(self) -> bool:
        """Whether no opponent's latest rounds speak for a fall."""
        return not any(self.suspicion)

    def notice(self, opponent: int, points: float, matches: int, strength: float) -> bool:
        """Add a round's result; returns whether a test is due."""
        found = self.suspicion[opponent] + fallen(points, matches, strength)
        self.suspicion[opponent] = min(max(found, 0.0), SUSPICION)
        return self.suspicion[opponent] >= SUSPICION

    def test(
        self, opponent: int, record: Score, play: Callable[[int], tuple[float, float]]
    ) -> tuple[float, float, int] | None:
        """Test for a fall against one opponent. `play(batch)` plays `PAIRS` fresh matches each of the policy and of the
        reference, and returns the points of both; the reference's are added to its `record`. Returns the points of
        both and the matches of each if there was a fall, else None.
        """
        limit = -math.log(self.level)
        self.tests += 1
        evidence = mine = theirs = 0.0
        for batch in range(BATCHES):
            strength = record.strength(opponent)  # known before these matches
            middle = MIDDLE * strength
            points, others = play(batch)
            evidence += log_ratio(points, PAIRS, FALL * strength, middle) + log_ratio(others, PAIRS, strength, middle)
            mine, theirs = mine + points, theirs + others
            record.add(opponent, others, PAIRS)
            if evidence >= limit and mine <= MIDDLE * theirs:
                return mine, theirs, (batch + 1) * PAIRS
            if evidence >= limit or evidence <= -FUTILE:
                break
        self.suspicion[opponent] = 0.0
        return None

    def restore(self, tests: int, suspicion: list[float]) -> None:
        """Continue with what `tests` and `suspicion` were."""
        self.tests, self.suspicion = tests, suspicion

    def start_over(self) -> None:
        """Another policy plays, or another reference is measured against; the tests made stay counted."""
        self.suspicion = [0.0] * len(self.suspicion)
