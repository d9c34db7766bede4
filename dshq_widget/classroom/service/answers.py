"""Answers that are on their way: a page that somebody has asked for lies in the service's memory until they read it."""

from __future__ import annotations

import asyncio
import collections

from tornado.iostream import IOStream

MOST_ANSWERS = 8
"""Of an account at once; a browser has six connections. A policy has two megabytes."""
ANSWER_SECONDS = 120.0
"""How long one may take, on a slow network too."""


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
