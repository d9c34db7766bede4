"""Notices when a policy has stopped exploring: its entropy stays near zero."""

from __future__ import annotations

import numpy as np

UPDATES = 3
"""Updates in a row below the floor that count as a collapse."""
RESERVE = 2.0
"""Weights are worth going back to while their entropy is at least so many times the floor."""
FIRST_BONUS = 0.01
"""What the first collapse adds to the entropy bonus; each further one doubles the sum (assumed)."""


class EntropyGuard:
    """Fed with every update; keeps the newest weights of a policy that still explored, and what must be added to the
    entropy bonus so that it does not fall asleep again.
    """

    def __init__(self) -> None:
        self.low, self.bonus = 0, 0.0
        self.awake: np.ndarray | None = None

    def after_update(self, entropy: float, floor: float, weights: np.ndarray) -> str:
        """`entropy` (nats) of the update that led to the flat `weights`. Answers "" or what went wrong, as part of a
        sentence, with `bonus` raised. A floor of 0 watches nothing.
        """
        if entropy >= RESERVE * floor:
            self.awake = weights
        self.low = self.low + 1 if entropy < floor else 0
        if self.low < UPDATES:
            return ""
        self.low = 0
        self.bonus = max(FIRST_BONUS, 2 * self.bonus)
        return f"its entropy stayed below {floor:.3g} nats for {UPDATES} updates, the last time at {entropy:.3g}"

    def state(self) -> dict[str, np.ndarray]:
        """What an exact continuation needs."""
        kept = {} if self.awake is None else {"train.awake": self.awake}
        return {"train.entropy": np.array([self.low, self.bonus]), **kept}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take over what `state` returned."""
        if "train.entropy" in state:
            self.low, self.bonus = int(state["train.entropy"][0]), float(state["train.entropy"][1])
            self.awake = state.get("train.awake")
