"""A log that a problem does not fill: each is written down once, as long as it lasts."""

from __future__ import annotations

import time
from collections.abc import Callable

AWAY_SECONDS = 3600.0
"""After so long without it, a problem is a new one."""
MOST = 1000
"""Problems that are remembered."""


class Once:
    """Which problems are in the log already."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, float] = {}

    def new(self, problem: str) -> bool:
        """Whether it is to be written down: it was not there within the last `AWAY_SECONDS`."""
        now = self._clock()
        before = self._seen.pop(problem, None)
        self._seen[problem] = now
        if len(self._seen) > MOST:
            del self._seen[next(iter(self._seen))]
        return before is None or now - before > AWAY_SECONDS
