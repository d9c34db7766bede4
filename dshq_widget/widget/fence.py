"""A fence around each step of a thread that must not end: the sender thread's, whose end would freeze the page."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from typing import Any

from dshq_widget.runtime.words import reason_of, words_of

EXPECTED = (ValueError, TypeError, RuntimeError, OSError)
"""What a step may raise with a sentence for a person. Anything else is logged with its traceback."""
MOST_LOGGED = 20
"""Sentences that are remembered as logged, of each kind of error. A page makes sentences without end, but no kinds."""

log = logging.getLogger("dshq_widget")


class Fence:
    """Calls steps. What one raises is logged once and reported to the page by `say`, and the next step is called. That
    is so with `sys.exit`, too, of a function that observes a trait: only the thread would end.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._failing: set[str] = set()
        self._logged: dict[type[BaseException], set[tuple[str, str]]] = {}

    def step(self, what: str, call: Callable[..., Any], *arguments: Any) -> bool:
        """Call one step of a loop; whether it succeeded. One that fails repeatedly is reported once, until
        it succeeds again.
        """
        try:
            call(*arguments)
        except BaseException as error:
            self._report(what, error, tell=what not in self._failing)
            self._failing.add(what)
            return False
        self._failing.discard(what)
        return True

    def command(self, what: str, call: Callable[..., Any], *arguments: Any) -> bool:
        """Call what somebody asked for; whether it succeeded. Each failure is reported, since somebody waits."""
        try:
            call(*arguments)
        except BaseException as error:
            self._report(what, error, tell=True)
            return False
        return True

    def _report(self, what: str, error: BaseException, tell: bool) -> None:
        try:
            self._log_and_say(what, error, tell)
        except Exception:  # memory has run out while it was said, for example: whoever asks again hears more
            with contextlib.suppress(Exception):
                log.error("%s failed, and so did saying why", what)

    def _log_and_say(self, what: str, error: BaseException, tell: bool) -> None:
        text = sentence(error)
        logged = self._logged.setdefault(type(error), set())
        if (what, text) not in logged and len(logged) < MOST_LOGGED:
            logged.add((what, text))
            trace = None if isinstance(error, EXPECTED) else error
            log.warning("%s failed: %s", what, text, exc_info=trace)
        if tell:
            self._say(text if isinstance(error, EXPECTED) else f"{what} failed: {text}")


def sentence(error: BaseException) -> str:
    """An error in words, on one line; never empty."""
    if isinstance(error, MemoryError):
        return f"there is not enough memory: close other notebooks. {words_of(error) or ''}".strip()
    return reason_of(error)
