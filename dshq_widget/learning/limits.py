"""Where a run ends by itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The run ends at the first update that reaches one of them. Infinite: no limit."""

    updates: float = math.inf
    """Updates since the start of training, earlier runs included."""
    agent_steps: float = math.inf
    """Agent steps, counted in the same way."""
    seconds: float = math.inf
    """Seconds of this run: playing, learning and waiting for the pace, without start-up, evaluation and pauses."""

    @classmethod
    def of(cls, orders: Mapping[str, float] | None) -> Limits:
        """From the kernel's orders, which name only the limits that are set."""
        return cls(**(orders or {}))

    def reached(self, updates: int, agent_steps: int, seconds: float) -> bool:
        """Whether the run is over."""
        return updates >= self.updates or agent_steps >= self.agent_steps or seconds >= self.seconds
