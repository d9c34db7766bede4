"""Publishes new policy versions for their readers: the match on the page, rollout processes, the next learner."""

from __future__ import annotations

import numpy as np

from dshq_widget.runtime.slots import WeightSlots


class Publisher:
    """The only writer of a run's weight slots; versions increase by one."""

    def __init__(self, slots: WeightSlots) -> None:
        self.slots = slots
        self.version = slots.latest

    def publish(self, agent_steps: int, weights: np.ndarray) -> None:
        """Publish `weights` as the next version. Raises ValueError and publishes nothing if they are not finite."""
        self.slots.publish(self.version + 1, agent_steps, weights)
        self.version += 1

    def latest(self) -> tuple[int, int, np.ndarray] | None:
        """(version, agent steps, weights) published last; None before the first."""
        return self.slots.read(0)
