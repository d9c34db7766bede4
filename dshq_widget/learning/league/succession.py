"""Who is champion, whose strength the policy is held to, and whether it has fallen below that.

The *champion* is the newest policy that was not worse: it made at least half the points in its matches with the
champion before it, and its matches with the pinned opponents speak for the reference's strength rather than for
`FALL` of it, both those of its round and as many fresh ones. Ties go to the newer, so it moves on where the pinned
opponents are always beaten. The *reference* is the champion that did best against the pinned opponents in those fresh
matches; a slow decline, each champion a little weaker, is measured against it. As many matches again enter its record:
those that chose it were lucky. (The second ones alone would let the reference sink with a slow decline: a fall of 0.003
a round from 0.8 was found at 0.28 instead of 0.60 in the worst tenth of 40 runs, simulated.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dshq_widget.learning.league.fall_test import PAIRS, FallTest, Score, fallen
from dshq_widget.policy.checkpoint import MOST_COUNT

CROWNING, TESTING = 32, 64
"""First series of matches of a crowning and of the tests, which take two for each batch."""
MOST_MATCHES = 1e9
"""Of two players, in a file: a strength of nearly 1 is still none of 1, by whose complement the tests divide."""


class Play(Protocol):
    """Plays matches of `weights` with the pinned opponent of a place and returns the points. No two calls of a round
    have the same `series`, and their matches are independent.
    """

    def __call__(self, weights: np.ndarray, opponent: int, matches: int, series: int) -> float: ...


@dataclasses.dataclass(frozen=True)
class Champion:
    """A policy that was not worse than the champion before it."""

    weights: np.ndarray
    version: int
    step: int
    """Agent steps learned from."""


class Succession:
    """Champion and reference, against the pinned opponents called `names`."""

    def __init__(self, names: Sequence[str], play: Play) -> None:
        self.names, self.play = tuple(names), play
        self.champion: Champion | None = None
        self.reference: Champion | None = None
        self.score = Score([], [])
        """The reference's independent matches."""
        self.test = FallTest(len(self.names))
        self.anew = False
        """Whether the next policy becomes champion and reference in any case."""

    def after_round(self, newcomer: Champion, points: Sequence[float], matches: int, even: bool, watch: bool) -> str:
        """Hold the newest policy to the reference, and crown it if it is not worse than the champion.

        `points` are those of its `matches` with each pinned opponent; `even` says whether it made at least half the
        points against the champion. Returns "" or, as part of a sentence, how far it has fallen; with `watch` false no
        test is made, so a suspicion, which only a test takes away, keeps nobody from being crowned.
        """
        if self.champion is None or self.anew:
            self.champion, self.anew = newcomer, False
            self._refer_to(newcomer, self._measured(newcomer, matches))
            return ""
        if self.reference is None:  # a file from before there were references
            self._refer_to(self.champion, self._measured(self.champion, matches))
        for k, won in enumerate(points):
            due = self.test.notice(k, won, matches, self.score.strength(k)) and watch
            if due and (problem := self._tested(newcomer, k)):
                return problem
        if even and (self.test.calm or not watch):
            self._crown(newcomer, matches)
        return ""

    def rewards_changed(self) -> None:
        """The reward weights have changed: who is paid for something else may win less, so the next policy is the one
        to be held to.
        """
        self.anew = True
        self.test.start_over()

    def _tested(self, newcomer: Champion, k: int) -> str:
        reference = self.reference
        assert reference is not None

        def play(batch: int) -> tuple[float, float]:
            series = TESTING * (k + 1) + 2 * batch
            mine = self.play(newcomer.weights, k, PAIRS, series)
            return mine, self.play(reference.weights, k, PAIRS, series + 1)

        found = self.test.test(k, self.score, play)
        if found is None:
            return ""
        mine, theirs, matches = found
        fell = f"the score against {self.names[k]} fell from {theirs / matches:.1%} to {mine / matches:.1%}"
        return f"{fell} in {matches:,} matches each"

    def _crown(self, newcomer: Champion, matches: int) -> None:
        record = self._measured(newcomer, matches)
        strengths = [self.score.strength(k) for k in range(len(self.names))]
        if any(fallen(*row) > 0 for row in zip(record.points, record.matches, strengths, strict=True)):
            return
        self.champion = newcomer
        if record.share >= self.score.share:
            for k, points in enumerate(self._measured(newcomer, matches, len(self.names)).points):
                record.add(k, points, matches)  # luck chose the first ones
            self._refer_to(newcomer, record)

    def _measured(self, policy: Champion, matches: int, first: int = 0) -> Score:
        """Fresh matches with all pinned opponents, in series from the `first` of a crowning."""
        series = range(CROWNING + first, CROWNING + first + len(self.names))
        points = [self.play(policy.weights, k, matches, at) for k, at in enumerate(series)]
        return Score(points, [matches for _ in points])

    def _refer_to(self, policy: Champion, record: Score) -> None:
        self.reference, self.score = policy, record
        self.test.start_over()

    # ---- files

    def notes(self) -> dict[str, Any]:
        """All but the weights, as plain JSON values."""
        assert self.champion is not None
        own: dict[str, Any] = {"champion": {"version": self.champion.version, "step": self.champion.step}}
        own |= {"tests": self.test.tests, "suspicion": self.test.suspicion, "anew": self.anew}
        if self.reference is not None:
            who = {"version": self.reference.version, "step": self.reference.step}
            own["reference"] = who | {"points": self.score.points, "matches": self.score.matches}
        return own

    def restore(self, notes: dict[str, Any], champion: np.ndarray, reference: np.ndarray | None) -> None:
        """Restore what `notes` returned, and the weights. Raises KeyError, TypeError or ValueError if they do not fit.
        Files from before there were references have neither that nor tests.
        """
        self.champion = _champion(champion, notes["champion"])
        self.test = FallTest(len(self.names))
        self.reference, self.score, self.anew = None, Score([], []), bool(notes.get("anew", False))
        if reference is None:
            return
        who, suspicion = notes["reference"], [float(x) for x in notes["suspicion"]]
        record = Score([float(x) for x in who["points"]], [int(x) for x in who["matches"]])
        sizes = {len(suspicion), len(record.points), len(record.matches)}
        rows = zip(record.points, record.matches, strict=False)
        met = all(0 <= points <= met and 0 < met <= MOST_MATCHES for points, met in rows)
        if sizes != {len(self.names)} or not met:
            raise ValueError(f"its reference did not meet the {len(self.names)} pinned opponents")
        self.reference, self.score = _champion(reference, who), record
        self.test.restore(as_count(notes["tests"]), suspicion)


def _champion(weights: np.ndarray, note: dict[str, Any]) -> Champion:
    return Champion(weights, as_count(note["version"]), as_count(note["step"]))


def as_count(value: Any) -> int:
    """A count of a file's notes; raises ValueError for anything else, and for what no run counts to."""
    if type(value) is not int or not 0 <= value <= MOST_COUNT:
        raise ValueError(f"wanted a count, got {value!r:.40}")
    return value
