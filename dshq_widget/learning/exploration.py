"""Detects when a policy has stopped exploring without having found good returns.

Entropy near zero alone is not a problem: a drill with one right answer needs it (the bandit, measured: without the
second condition training never passed 98 %).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dshq_widget.learning.parts import Experience
from dshq_widget.learning.run import Companion, Run

UPDATES = 3
"""Number of updates in a row below the floor that count as a collapse."""
RESERVE = 2.0
"""Weights are kept to revert to while their entropy is at least this many times the floor."""
FIRST_BONUS, LARGEST_BONUS = 0.01, 0.1
"""Increase of the entropy bonus at the first collapse, and its upper limit; each further collapse doubles it. After
that nothing more is done (assumed).
"""
MEMORY = 0.1
"""Weight of the newest update in the mean of returns (assumed)."""


class EntropyGuard:
    """Checks every update; keeps the newest weights that still explored, and the increase of the entropy bonus."""

    def __init__(self) -> None:
        self.low, self.bonus, self.usual = 0, 0.0, math.nan
        self.awake: np.ndarray | None = None

    def after_update(self, entropy: float, returns: float, floor: float, weights: np.ndarray) -> str:
        """`entropy` (nats) and mean return of the update that led to the flat `weights`. Returns "" or what went wrong,
        as part of a sentence, with `bonus` raised. A floor of 0 disables it.

        A policy has collapsed if it is below the floor for `UPDATES` updates in a row without better returns than
        before.
        """
        if entropy >= RESERVE * floor:
            self.awake = weights
            self.usual = returns if math.isnan(self.usual) else self.usual + MEMORY * (returns - self.usual)
        self.low = self.low + 1 if entropy < floor and not returns > self.usual else 0
        if self.low < UPDATES or self.bonus >= LARGEST_BONUS:
            return ""
        self.low = 0
        self.bonus = min(max(FIRST_BONUS, 2 * self.bonus), LARGEST_BONUS)
        return f"entropy stayed below {floor:.3g} nats for {UPDATES} updates (now {entropy:.3g}) without better returns"

    def rewards_changed(self) -> None:
        """The reward weights have changed: returns and weights from before say nothing of the new aim."""
        self.low, self.usual, self.awake = 0, math.nan, None

    def state(self) -> dict[str, np.ndarray]:
        """State for an exact continuation."""
        kept = {} if self.awake is None else {"train.awake": self.awake}
        return {"train.entropy": np.array([self.low, self.bonus, np.nan_to_num(self.usual)]), **kept}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `state` returned."""
        if "train.entropy" in state:
            low, self.bonus, usual = state["train.entropy"].tolist()
            self.low, self.awake = int(low), state.get("train.awake")
            self.usual = math.nan if self.awake is None else usual


class Exploration(Companion):
    """Reverts to the newest weights that still explored when a policy stops exploring, and raises the exploration: the
    entropy bonus of PPO, the noise of SPO.
    """

    def __init__(self) -> None:
        self.guard = EntropyGuard()

    def begin(self, run: Run) -> None:
        run.explore(self.guard.bonus)

    def after_update(self, run: Run, experience: Experience, learned: Mapping[str, float]) -> None:
        if run.skips or run.reverts or "entropy" not in learned:
            return  # no update was made
        returns, entropy = experience.samples.mean_return(experience.units), learned["entropy"]
        problem = self.guard.after_update(entropy, returns, run.config.min_entropy, run.learner.blob())
        run.explore(self.guard.bonus)
        if not problem:
            return
        reverted = self.guard.awake is not None
        if self.guard.awake is not None:
            run.replace_weights(self.guard.awake)
        done = "reverted to an earlier policy that still explored; continuing" if reverted else "continuing"
        run.warn(f"{done} with exploration raised by {self.guard.bonus:.3g}: {problem}")

    def rewards_changed(self) -> None:
        self.guard.rewards_changed()

    def state(self) -> dict[str, np.ndarray]:
        return self.guard.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        self.guard.restore(state)
