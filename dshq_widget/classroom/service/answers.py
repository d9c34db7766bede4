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
STRANGERS_A_SECOND, STRANGERS_AT_ONCE = 200.0, 2000.0
"""The same of a host whose person has not logged in. A class may share one, and each asks three times to log in; 1,600
a second take a processor (AMD Zen 5).
"""
FILES_A_SECOND, FILES_AT_ONCE = 400.0, 4000.0
"""The same of the files that pages use: browsers keep them."""
MOST_KNOWN = 10_000
"""Accounts and hosts whose requests are counted; more are forgotten, first who has asked for nothing for longest."""
TURN_SECONDS = 20.0
"""How long a request waits for its turn."""

MOST_ANSWERS = 8
"""Of an account at once; a browser has six connections. A policy has two megabytes."""
ANSWER_SECONDS = 120.0
"""How long one may take, on a slow network too."""


Who = tuple[str, str]
"""Whose a request is: ("account", its name), or ("host", its address) of a stranger, ("files", its address)."""


class Turns:
    """Who asks for very many pages waits, and the others do not wait for them."""

    def __init__(self) -> None:
        self._limits: collections.OrderedDict[Who, RateLimit] = collections.OrderedDict()

    def of(self, who: Who) -> RateLimit:
        """What whoever that is may ask for."""
        kind, name = who
        key = kind, name if kind == "account" else source_of(name)
        limits = {
            "account": (PAGES_A_SECOND, PAGES_AT_ONCE),
            "host": (STRANGERS_A_SECOND, STRANGERS_AT_ONCE),
            "files": (FILES_A_SECOND, FILES_AT_ONCE),
        }
        limit = self._limits.pop(key, None) or RateLimit(*limits[kind])
        self._limits[key] = limit
        while len(self._limits) > MOST_KNOWN:
            self._limits.popitem(last=False)
        return limit


class Answers:
    """Somebody's answers beyond `MOST_ANSWERS` end the oldest one. One event loop uses it."""

    def __init__(self) -> None:
        self._sent: dict[Who, dict[IOStream, asyncio.TimerHandle]] = collections.defaultdict(dict)
        self._whose: dict[IOStream, Who] = {}

    def sending(self, who: Who, stream: IOStream) -> None:
        """An answer for whoever that is has gone to the stream."""
        for other in [stream, *(other for other in self._sent.get(who, ()) if not other.writing())]:  # or gone
            self.read(other)
        if stream.writing():
            self._sent[who][stream] = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self._end, stream)
            self._whose[stream] = who
        while len(mine := self._sent.get(who, {})) > MOST_ANSWERS:
            self._end(next(iter(mine)))

    def read(self, stream: IOStream) -> None:
        """What was sent there before has been read: a proxy's connection is for whoever comes next."""
        if (who := self._whose.pop(stream, None)) is not None:
            self._sent[who].pop(stream).cancel()
            if not self._sent[who]:
                del self._sent[who]

    def _end(self, stream: IOStream) -> None:
        self.read(stream)
        if stream.writing():
            stream.close()
