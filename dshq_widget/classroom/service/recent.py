"""What is worked out of a round's thousands of blocks, once for everybody who asks at about the same time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

from dshq_widget.classroom.store import PLAYING, Store

T = TypeVar("T")
SECONDS = 2.0
"""How old the table of a round may be while it is played; pages load it again every five seconds."""
MOST_KEPT = 500
"""Rounds of which a result is kept, those that were worked out last."""


class Recent:
    """Results of functions of rounds. A thread works one out, so that other requests are answered meanwhile; it is kept
    until the round changes, and while the round is played for `seconds` at least. One event loop uses it.
    """

    def __init__(self, store: Store, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._seconds, self._clock = store, seconds, clock
        self._kept: dict[tuple[str, int], tuple[int, float, asyncio.Future[Any]]] = {}

    async def of(self, what: str, found: Any, work_out: Callable[[int], T], most: int = MOST_KEPT) -> T:
        """`work_out(number)` of the round whose row is `found`, under the name `what`; results of `most` rounds are
        kept under it. Raises what that raises.
        """
        key, changes, now = (what, int(found.id)), self._store.changes(found.id), self._clock()
        kept = self._kept.get(key)
        if kept is not None:
            before, begun, result = kept
            if before == changes or (found.state == PLAYING and now - begun < self._seconds):
                return await asyncio.shield(result)
        fresh = asyncio.ensure_future(asyncio.to_thread(work_out, found.id))
        self._kept.pop(key, None)
        self._kept[key] = changes, now, fresh
        same = [other for other in self._kept if other[0] == what]
        for other in same[: max(0, len(same) - most)]:
            del self._kept[other]
        try:
            return await asyncio.shield(fresh)
        except Exception:
            if self._kept.get(key, (0, 0.0, None))[2] is fresh:
                del self._kept[key]
            raise
