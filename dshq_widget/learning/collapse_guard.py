"""Detects when training collapses: updates outside their bounds, or a score that stays below the champion's."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dshq_widget.policy.evaluate import wilson

KL_LIMIT = 1.0
"""Upper limit of an update's KL divergence, in nats; healthy updates with clip range .2 have .001 to .03 (measured)."""
VALUE_LIMIT, VALUE_MEMORY, VALUE_WARM_UP = 30.0, 0.02, 100
"""A value loss this many times its running geometric mean counts as diverging; the mean's update weight; and the number
of updates before the check starts (all assumed).
"""
STRIKES = 3
"""Number of updates in a row that must break a bound (assumed): both estimates have heavy tails."""
KEEP, ROUNDS, MEMORY = 0.95, 3, 12
"""A score below this share of the champion's for this many rounds in a row is a collapse; smaller losses are detected
in sums of more rounds, up to the third number (assumed).
"""
SEVERE = 0.75
"""A single round whose whole interval is below this share is a collapse."""
WORTH = 0.5
"""A champion with less than this share of the points is not worth reverting to (assumed)."""


class CollapseGuard:
    """Checks every update and every evaluation round; returns "" or what went wrong, as part of a sentence."""

    def __init__(self) -> None:
        self.typical, self.updates = (
            0.0,
            0,
        )  # mean logarithm of the value loss; updates since the start or the last revert
        self.strikes = 0  # updates out of bounds in a row
        self.recent: list[tuple[float, int]] = []  # points and matches of the latest rounds
        self.since: float | None = None
        """Best share since the reward weights changed; None while they never did."""

    def after_update(self, learned: Mapping[str, float]) -> str:
        """`learned` are the metrics of one update, or none of one that was skipped."""
        if "loss_value" not in learned:
            return ""  # no update was made
        kl, loss = learned["approx_kl"], max(learned["loss_value"], 1e-12)
        wild = self.updates >= VALUE_WARM_UP and not math.log(loss) <= self.typical + math.log(VALUE_LIMIT)
        if wild or not kl <= KL_LIMIT:
            self.strikes += 1
            what = f"the value loss is {loss:.3g}; it is usually {math.exp(self.typical):.3g}"
            what = what if wild else f"an update moved the policy by {kl:.3g} nats"
            return f"{what}, {STRIKES} times in a row" if self.strikes >= STRIKES else ""
        self.typical += max(VALUE_MEMORY, 1 / (self.updates + 1)) * (math.log(loss) - self.typical)
        self.updates, self.strikes = self.updates + 1, 0
        return ""

    def after_round(self, points: float, matches: int, best: float) -> str:
        """`points` in `matches` of the newest round against the pinned opponents; `best`, the champion's share.

        A collapse is one round whose whole 95 % interval (Wilson) is below `SEVERE` of the best, or `ROUNDS` rounds
        each below `KEEP` of it whose joint interval, with or without earlier rounds, is below it too. Bad luck alone is
        not a collapse. Once the reward weights have changed, the best is at most the best since then: who is paid for
        something else may win less.
        """
        if self.since is not None:
            best, self.since = min(best, self.since), max(self.since, points / matches)
        self.recent = [*self.recent[1 - MEMORY :], (points, matches)]
        if best < WORTH:
            return ""
        low = all(p < KEEP * best * n for p, n in self.recent[-ROUNDS:])
        for count in (1, *range(ROUNDS, len(self.recent) + 1)):
            total, played = (sum(column) for column in zip(*self.recent[-count:], strict=True))
            limit = KEEP if count > 1 else SEVERE
            if (low or count == 1) and wilson(total, played - total)[1] < limit * best:
                over = f" over {count} rounds" if count > 1 else ""
                share = total / played
                return f"the score against the pinned opponents fell from {best:.1%} to {share:.1%}{over}"
        return ""

    def start_over(self) -> None:
        """Training reverted to other weights: forget what was usual."""
        self.typical, self.updates, self.strikes, self.recent = 0.0, 0, 0, []

    def paid_otherwise(self) -> None:
        """The reward weights have changed: forget what was usual and what was best."""
        self.start_over()
        self.since = 0.0

    def state(self) -> np.ndarray:
        """The guard's memory, f64."""
        return np.array([self.typical, self.updates, self.strikes, *(x for pair in self.recent for x in pair)])

    def restore(self, state: np.ndarray) -> None:
        """Restore what `state` returned."""
        self.typical, self.updates, self.strikes = float(state[0]), int(state[1]), int(state[2])
        self.recent = [(float(p), int(n)) for p, n in state[3:].reshape(-1, 2)]
