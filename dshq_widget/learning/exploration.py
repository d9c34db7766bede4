"""Notices when a policy has stopped exploring without having found what it was looking for.

Entropy near zero alone is no fault: a drill that has one right answer asks for it (the bandit, measured: without the
second condition training never passed 98 %).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dshq_widget.learning.parts import Experience
from dshq_widget.learning.run import Companion, Run

UPDATES = 3
"""Updates in a row below the floor that count as a collapse."""
RESERVE = 2.0
"""Weights are worth going back to while their entropy is at least so many times the floor."""
FIRST_BONUS, LARGEST_BONUS = 0.01, 0.1
"""What the first collapse adds to the entropy bonus; each further one doubles the sum, up to the second. A policy
that this does not help is left alone, and no more is said (assumed)."""
MEMORY = 0.1
"""Weight of the newest update in the mean of returns (assumed)."""


class EntropyGuard:
    """Fed with every update; keeps the newest weights of a policy that still explored, and what must be added to the
    entropy bonus so that it does not fall asleep again.
    """

    def __init__(self) -> None:
        self.low, self.bonus, self.usual = 0, 0.0, math.nan
        self.awake: np.ndarray | None = None

    def after_update(self, entropy: float, returns: float, floor: float, weights: np.ndarray) -> str:
        """`entropy` (nats) and mean return of the update that led to the flat `weights`. Answers "" or what went wrong,
        as part of a sentence, with `bonus` raised. A floor of 0 watches nothing.

        Collapsed is a policy below the floor in `UPDATES` updates in a row with returns no better than while it was
        exploring.
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

    def state(self) -> dict[str, np.ndarray]:
        """What an exact continuation needs."""
        kept = {} if self.awake is None else {"train.awake": self.awake}
        return {"train.entropy": np.array([self.low, self.bonus, np.nan_to_num(self.usual)]), **kept}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over what `state` returned."""
        if "train.entropy" in state:
            low, self.bonus, usual = state["train.entropy"].tolist()
            self.low, self.awake = int(low), state.get("train.awake")
            self.usual = math.nan if self.awake is None else usual


class Exploration(Companion):
    """Goes back to the newest weights that still explored, with a larger entropy bonus, when a policy has stopped."""

    def __init__(self) -> None:
        self.guard = EntropyGuard()

    def begin(self, run: Run) -> None:
        run.entropy_bonus = self.guard.bonus

    def after_update(self, run: Run, experience: Experience, learned: Mapping[str, float]) -> None:
        if run.skips or run.returns:
            return  # nothing was learned
        returns, entropy = experience.samples.mean_return(experience.units), learned.get("entropy", math.inf)
        problem = self.guard.after_update(entropy, returns, run.config.min_entropy, run.learner.blob())
        run.entropy_bonus = self.guard.bonus
        if not problem:
            return
        reverted = self.guard.awake is not None
        if self.guard.awake is not None:
            run.replace_weights(self.guard.awake)
        done = "reverted to an earlier policy that still explored; continuing" if reverted else "continuing"
        run.warn(f"{done} with the entropy bonus raised by {self.guard.bonus:.3g}: {problem}")

    def state(self) -> dict[str, np.ndarray]:
        return self.guard.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        self.guard.restore(state)
