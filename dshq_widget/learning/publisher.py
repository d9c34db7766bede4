"""Hands each better policy to whoever reads it: the match on the page, rollout processes, the next learner."""

from __future__ import annotations

import numpy as np

from dshq_widget.runtime.slots import WeightSlots


class Publisher:
    """The one writer of a run's weight slots; versions rise by one."""

    def __init__(self, slots: WeightSlots) -> None:
        self.slots = slots
        self.version = slots.latest

    def publish(self, agent_steps: int, weights: np.ndarray) -> None:
        """Make `weights` the next version. Raises ValueError, with nothing published, for weights not finite."""
        self.slots.publish(self.version + 1, agent_steps, weights)
        self.version += 1

    def latest(self) -> tuple[int, int, np.ndarray] | None:
        """(version, agent steps, weights) published last; None before the first."""
        return self.slots.read(0)
