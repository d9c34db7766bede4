"""What an account's pages may take: turns of the one thread that makes them for everybody, and memory until somebody
reads them.
"""

from __future__ import annotations

import asyncio
import collections

from tornado.iostream import IOStream

from dshq_widget.runtime.connections import source_of
from dshq_widget.runtime.rate_limit import RateLimit

PAGES_A_SECOND, PAGES_AT_ONCE = 10.0, 40.0
"""Of an account; a page that is being played loads itself every five seconds."""
STRANGERS_A_SECOND, STRANGERS_AT_ONCE = 50.0, 1000.0
"""The same of a host whose person has not logged in; a class may share one, and each asks three times to log in."""
FILES_A_SECOND, FILES_AT_ONCE = 200.0, 2000.0
"""The same of the files that pages use: browsers keep them."""
MOST_KNOWN = 10_000
"""Accounts and hosts whose requests are counted; more are forgotten, first who has asked for nothing for longest."""
TURN_SECONDS = 20.0
"""How long a page waits for its account's turn."""

MOST_ANSWERS = 8
"""Of an account at once; a browser has six connections. A policy has two megabytes."""
ANSWER_SECONDS = 120.0
"""How long one may take, on a slow network too."""


class Turns:
    """Who asks for very many pages waits, and the others do not wait for them."""

    def __init__(self) -> None:
        self._limits: collections.OrderedDict[tuple[str, str], RateLimit] = collections.OrderedDict()

    def page(self, account: str | None, address: str) -> float:
        """Count a page of an account, or of whoever asks from an address and has not logged in; the seconds until its
        turn. Beyond `TURN_SECONDS` nothing is counted.
        """
        if account is not None:
            return self._wait(("account", account), PAGES_A_SECOND, PAGES_AT_ONCE)
        return self._wait(("stranger", source_of(address)), STRANGERS_A_SECOND, STRANGERS_AT_ONCE)

    def file(self, address: str) -> float:
        """The same for a file that pages use."""
        return self._wait(("file", source_of(address)), FILES_A_SECOND, FILES_AT_ONCE)

    def _wait(self, who: tuple[str, str], rate: float, burst: float) -> float:
        limit = self._limits.pop(who, None) or RateLimit(rate, burst)
        self._limits[who] = limit
        while len(self._limits) > MOST_KNOWN:
            self._limits.popitem(last=False)
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
