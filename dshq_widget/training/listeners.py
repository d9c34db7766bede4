"""Calls those who want to know of changes, on a thread of their own, so that they may call anything."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

Listener = Callable[[], None]

log = logging.getLogger("dshq_widget")


class Listeners:
    """Changes that come faster than a listener returns are one call. A change that a listener makes itself reaches
    the others only, so that `on_change(trainer.stop)` ends. The thread lives only while there is something to tell.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: list[Listener] = []
        self._due: list[Listener] = []
        self._thread: threading.Thread | None = None
        self._called: Listener | None = None

    def add(self, listener: Listener) -> None:
        """Call it from the next change on."""
        with self._lock:
            self._all.append(listener)

    def remove(self, listener: Listener) -> None:
        """Call it no more; a call that has begun continues. Removing it twice is fine."""
        with self._lock:
            self._all = [each for each in self._all if each is not listener]
            self._due = [each for each in self._due if each is not listener]

    def notify(self) -> None:
        """Something has changed. Returns at once."""
        with self._lock:
            own = self._called if threading.current_thread() is self._thread else None
            self._due += [each for each in self._all if each is not own and each not in self._due]
            if not self._due or self._thread is not None:
                return
            self._thread = threading.Thread(target=self._deliver, name="dshq-listeners", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # the interpreter is ending
                self._thread = None

    def _deliver(self) -> None:
        while True:
            with self._lock:
                if not self._due:
                    self._thread = self._called = None
                    return
                self._called = self._due.pop(0)
            try:
                self._called()
            except BaseException:  # SystemExit, too: only this thread would end, and nobody be called any more
                log.exception("a listener failed: %r", self._called)
