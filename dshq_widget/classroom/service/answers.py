"""What an account's pages may take: turns of the one thread that makes them for everybody, and memory until somebody
reads them.
"""

from __future__ import annotations

import asyncio
import collections

from tornado.iostream import IOStream

from dshq_widget.runtime.rate_limit import RateLimit

PAGES_A_SECOND, PAGES_AT_ONCE = 10.0, 40.0
"""Of an account; a page that is being played loads itself every five seconds."""
TURN_SECONDS = 20.0
"""How long a page waits for its account's turn."""

MOST_ANSWERS = 8
"""Of an account at once; a browser has six connections. A policy has two megabytes."""
ANSWER_SECONDS = 120.0
"""How long one may take, on a slow network too."""


class Turns:
    """Who asks for very many pages waits, and the others do not wait for them."""

    def __init__(self) -> None:
        self._limits: dict[str, RateLimit] = collections.defaultdict(lambda: RateLimit(PAGES_A_SECOND, PAGES_AT_ONCE))

    def wait(self, account: str) -> float:
        """Count a page and return the seconds until its turn; beyond `TURN_SECONDS` count nothing."""
        limit = self._limits[account]
        return limit.wait if limit.wait > TURN_SECONDS else limit.spend()


class Answers:
    """One account's answers beyond `MOST_ANSWERS` end the oldest one. One event loop uses it."""

    def __init__(self) -> None:
        self._sent: dict[str, dict[IOStream, asyncio.TimerHandle]] = collections.defaultdict(dict)

    def sending(self, account: str, stream: IOStream) -> None:
        """An answer for this account has gone to the stream."""
        mine = self._sent[account]
        for other in [other for other in mine if other is stream or not other.writing()]:  # read, or gone
            mine.pop(other).cancel()
        if stream.writing():
            mine[stream] = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self._end, account, stream)
        while len(mine) > MOST_ANSWERS:
            self._end(account, next(iter(mine)))
        if not mine:
            self._sent.pop(account, None)

    def _end(self, account: str, stream: IOStream) -> None:
        mine = self._sent[account]
        mine.pop(stream).cancel()
        if not mine:
            del self._sent[account]
        if stream.writing():
            stream.close()
