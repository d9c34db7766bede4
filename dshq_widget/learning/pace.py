"""When the learner may begin its next update: by the pace setting and, while learning is paused, on request."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class Pace:
    """Times are in seconds of time.monotonic(); `pace` is in agent steps per second, 0 for full speed."""

    paused: bool = False
    asked: int = 0
    """Updates to make while paused."""
    began: float = -math.inf
    """When the last update began."""
    steps: int = 0
    """Agent steps of the last update."""

    def next_update(self) -> None:
        """Pause after one more update."""
        self.paused = True
        self.asked += 1

    def pause(self) -> None:
        """No update until it is resumed or one is requested."""
        self.paused = True

    def resume(self) -> None:
        """Resume at the pace; requested single updates are cleared."""
        self.paused, self.asked = False, 0

    def rest(self, now: float, pace: float) -> float:
        """Seconds until the next update may begin; infinite while paused. A changed pace applies to the whole wait, so
        it takes effect at once.
        """
        if self.paused:
            return 0.0 if self.asked else math.inf
        return max(self.began + self.steps / pace - now, 0.0) if pace > 0 else 0.0

    def made(self, began: float, steps: int) -> None:
        """An update of `steps` agent steps that began at `began` is done."""
        self.began, self.steps = began, steps
        self.asked = max(self.asked - 1, 0)
