"""Detects updates that make training collapse. What has collapsed against others is found by fall_test.py."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

KL_LIMIT = 1.0
"""Upper limit of an update's KL divergence, in nats; healthy ones with clip range 0.2 have 0.001 to 0.03 (measured)."""
VALUE_LIMIT, VALUE_MEMORY, VALUE_WARM_UP = 30.0, 0.02, 100
"""A value loss this many times its running geometric mean counts as diverging; the mean's update weight; and the number
of updates before the check starts (all assumed).
"""
STRIKES = 3
"""Number of updates in a row that must break a bound (assumed): both estimates have heavy tails."""


class CollapseGuard:
    """Checks every update; returns "" or what went wrong, as part of a sentence."""

    def __init__(self) -> None:
        self.typical, self.updates = 0.0, 0
        """Mean logarithm of the value loss, and updates since the start or the last revert."""
        self.strikes = 0
        """Updates out of bounds in a row."""

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

    def start_over(self) -> None:
        """Training reverted to other weights, or has another aim: forget what was usual."""
        self.typical, self.updates, self.strikes = 0.0, 0, 0

    def state(self) -> np.ndarray:
        """The guard's memory, f64 `[3]`."""
        return np.array([self.typical, self.updates, self.strikes])

    def restore(self, state: np.ndarray) -> None:
        """Restore what `state` returned; what files of before have behind it, results of rounds, is not needed."""
        self.typical, self.updates, self.strikes = float(state[0]), int(state[1]), int(state[2])
