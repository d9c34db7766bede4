"""The pages of a widget: which of them speaks, and whether somebody looks. It is hidden only where all of its pages
are: each speaks for itself, and a tab in the background does not stop what another one shows.
"""

from __future__ import annotations

import contextlib
import contextvars
import time
from collections.abc import Callable, Iterator

SPEAKER: contextvars.ContextVar[str] = contextvars.ContextVar("dshq_page", default="")
"""The page whose message is being handled."""
LISTENER: contextvars.ContextVar[str] = contextvars.ContextVar("dshq_listener", default="")
"""The page that what is being sent is for, "" for all of them. A notebook's pages have one line and hear everything."""
SILENT_SECONDS = 60.0
"""A page that was seen last and has said nothing for so long may be gone: what becomes of a page is not told here."""
MOST_PAGES = 64
"""That are known; of more those that are not seen are forgotten first: whoever opens very many pages hides nobody's."""


def spoken_by(page: str) -> contextlib.AbstractContextManager[None]:
    """Handle a message of that page."""
    return _naming(SPEAKER, page)


def told_to(page: str) -> contextlib.AbstractContextManager[None]:
    """Send something to that page."""
    return _naming(LISTENER, page)


@contextlib.contextmanager
def _naming(who: contextvars.ContextVar[str], page: str) -> Iterator[None]:
    token = who.set(page)
    try:
        yield
    finally:
        who.reset(token)


class Looking:
    """`changed` is called with whether somebody looks, each time that a page says whether it is visible, and when the
    answer is another than before. Used by one thread.
    """

    def __init__(self, changed: Callable[[bool], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._changed, self._clock = changed, clock
        self._pages: dict[str, tuple[bool | None, float]] = {}  # visible, and when it spoke; who spoke last is last
        self._seen = True

    def heard(self, page: str, visible: bool | None = None) -> None:
        """That page has said something: whether it is `visible`, None for anything else."""
        now = self._clock()
        before, _ = self._pages.pop(page, (None, now))
        self._pages[page] = before if visible is None else visible, now
        if len(self._pages) > MOST_PAGES:
            unseen = (name for name, (shown, _) in self._pages.items() if not shown)
            del self._pages[next(unseen, next(iter(self._pages)))]
        known = [(seen, at) for seen, at in self._pages.values() if seen is not None]
        seen = any(seen and now - at <= SILENT_SECONDS for seen, at in known)
        if visible is not None or (known and seen != self._seen):
            self._seen = seen
            self._changed(seen)
