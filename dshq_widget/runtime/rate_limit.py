"""How often somebody may ask for something: a token bucket."""

from __future__ import annotations

import time
from collections.abc import Callable


class RateLimit:
    """At most `rate` units a second in the long run, and `burst` of them at once."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._free, self._looked = burst, clock()

    @property
    def wait(self) -> float:
        """Seconds until nothing is owed: how long who has spent has to wait. 0 while something is free."""
        return self.spend(0.0)

    def spend(self, units: float = 1.0) -> float:
        """Takes `units`, be they free or not, and returns `wait`."""
        now = self._clock()
        self._free = min(self._burst, self._free + self._rate * (now - self._looked)) - units
        self._looked = now
        return max(0.0, -self._free / self._rate)
