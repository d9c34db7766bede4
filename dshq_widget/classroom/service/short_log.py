"""The service's log, with which nobody can fill a disk: what a request says may stand in a line, and there may be
thousands of them a second.
"""

from __future__ import annotations

import logging

from tornado.log import access_log
from tornado.web import RequestHandler

from dshq_widget.runtime.rate_limit import RateLimit

LINES_A_SECOND, LINES_AT_ONCE = 1.0, 100.0
"""Of others than the league's own, which says each problem once."""
LONGEST = 2000
"""Letters of a line; a traceback is one."""
OWN = "dshq.league"


class ShortLog(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes lines to stderr, few and short ones."""

    def __init__(self) -> None:
        super().__init__()
        self.setLevel(logging.WARNING)
        self._limit = RateLimit(LINES_A_SECOND, LINES_AT_ONCE)

    def emit(self, record: logging.LogRecord) -> None:
        if record.name != OWN:
            if self._limit.wait:
                return
            self._limit.spend()
        super().emit(record)

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def failures(handler: RequestHandler) -> None:
    """One line for each answer that says that the service has failed; none for wrong requests."""
    if handler.get_status() >= 500:
        access_log.error("%d %s %s", handler.get_status(), handler.request.method, handler.request.path[:100])
