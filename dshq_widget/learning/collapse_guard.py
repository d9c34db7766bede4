"""Notices when training falls apart: one update that breaks its bounds, or a score that stays below the champion's."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dshq_widget.policy.evaluate import wilson

KL_LIMIT = 1.0
"""Nats that no healthy update moves the policy; with the clip range at .2 they move .001 to .03 (measured)."""
VALUE_LIMIT, VALUE_MEMORY, VALUE_WARM_UP = 30.0, 0.02, 100
"""A value loss so many times its running (geometric) mean, which forgets this share per update, is one that diverges
(assumed); nothing is said before so many updates."""
STRIKES = 3
"""So many updates in a row have to break a bound (assumed): both estimates have heavy tails."""
KEEP, ROUNDS, MEMORY = 0.95, 3, 12
"""A score below this share of the champion's in so many rounds in a row is a collapse; a small loss shows only in the
sum of more rounds, up to the third number (assumed)."""
SEVERE = 0.75
"""A single round below this share, its whole band, is one at once."""
WORTH = 0.5
"""A champion that makes less than this share of the points is nothing to go back to (assumed)."""


class CollapseGuard:
    """Fed with every update and every round of evaluation; answers "" or, as part of a sentence, what went wrong."""

    def __init__(self) -> None:
        self.typical, self.updates = 0.0, 0  # of the value loss: mean logarithm; updates since a start or a way back
        self.strikes = 0  # updates out of bounds in a row
        self.recent: list[tuple[float, int]] = []  # points and matches of the latest rounds

    def after_update(self, learned: Mapping[str, float]) -> str:
        """`learned` are the metrics of one update, or none of one that was skipped."""
        if "loss_value" not in learned:
            return ""  # nothing was learned
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

        A collapse is one round whose whole 95 % band (Wilson) lies below `SEVERE` of the best, or `ROUNDS` rounds that
        each lie below `KEEP` of it and, with or without some before them, have a common band that does: bad luck alone
        is none.
        """
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
        """Training went back to other weights: what was usual before says nothing any more."""
        self.typical, self.updates, self.strikes, self.recent = 0.0, 0, 0, []

    def state(self) -> np.ndarray:
        """f64: all that the guard remembers."""
        return np.array([self.typical, self.updates, self.strikes, *(x for pair in self.recent for x in pair)])

    def restore(self, state: np.ndarray) -> None:
        """Take over what `state` returned."""
        self.typical, self.updates, self.strikes = float(state[0]), int(state[1]), int(state[2])
        self.recent = [(float(p), int(n)) for p, n in state[3:].reshape(-1, 2)]
