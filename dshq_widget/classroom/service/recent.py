"""What is worked out of a round's thousands of blocks, once for everybody who asks at about the same time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from dshq_widget.classroom.store import PLAYING, Store

T = TypeVar("T")
SECONDS = 2.0
"""How old the table of a round may be while it is played; pages load it again every five seconds."""
MOST_KEPT = 500
"""Rounds of which a result is kept, the newest: who looks at all of many has none of these worked out again."""


class Recent:
    """Results of functions of rounds. A thread for each kind works them out, so that other requests are answered
    meanwhile, and what is handed in waits for no table. A result is kept until the round changes, and while the round
    is played for `seconds` at least. One event loop uses it.
    """

    def __init__(self, store: Store, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._seconds, self._clock = store, seconds, clock
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._kept: dict[tuple[str, int], tuple[int, float, asyncio.Future[Any]]] = {}

    async def of(self, what: str, found: Any, work_out: Callable[[int], T], most: int = MOST_KEPT) -> T:
        """`work_out(number)` of the round whose row is `found`, under the name `what`; results of the newest `most`
        rounds are kept under it. Raises what that raises.
        """
        key, changes, now = (what, int(found.id)), self._store.changes(found.id), self._clock()
        kept = self._kept.get(key)
        if kept is not None:
            before, begun, result = kept
            fresh_enough = now - begun < self._seconds or not result.done()
            if before == changes or (found.state == PLAYING and fresh_enough):
                return await asyncio.shield(result)
        if what not in self._threads:
            self._threads[what] = ThreadPoolExecutor(1, f"dshq-{what}")
        fresh = asyncio.get_running_loop().run_in_executor(self._threads[what], work_out, found.id)
        self._kept[key] = changes, now, fresh
        try:
            return await asyncio.shield(fresh)
        except Exception:
            if self._kept.get(key, (0, 0.0, None))[2] is fresh:
                del self._kept[key]
            raise
        finally:
            done = sorted(
                number for other, number in self._kept if other == what and self._kept[what, number][2].done()
            )
            for number in done[: max(0, len(done) - most)]:
                del self._kept[what, number]

    def close(self) -> None:
        """Nothing more is worked out."""
        for threads in self._threads.values():
            threads.shutdown(wait=False, cancel_futures=True)
