"""Plays the page's match where the page cannot compute the policy: a process decides, a little ahead of the page.

The process is named by the algorithm (algorithms/algorithm.py, `PlayedByProcess`). The page plays and draws the match
itself, by its own rules; this passes its questions to the process and the answers back. The process starts with the
first question, and again with another run or at a new question after a failure.
"""

from __future__ import annotations

import base64
import os
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from dshq_widget.contract import messages, protocol
from dshq_widget.runtime.leaving import Leaving
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget.sender import Sender

if TYPE_CHECKING:
    from dshq_widget.runtime.memory import SharedBlock
    from dshq_widget.runtime.supervisor import Child, Exit

STUCK_SECONDS = 60.0
"""Without a sign of the process's loop: importing torch and compiling rules take that long on a busy machine."""


class PolicyShow:
    """Thread-safe. `put` queues a message for the page, `fail` is called with a sentence."""

    def __init__(self, trainer: Trainer, put: Callable[[dict[str, Any]], None], fail: Callable[[str], None]) -> None:
        self._trainer, self._put, self._fail = trainer, put, fail
        self._lock = threading.RLock()
        self._child: Child | None = None
        self._leaving: Leaving[Child] = Leaving(1)
        self._block: SharedBlock | None = None
        self._closed = False

    @classmethod
    def of(cls, trainer: Trainer, outbox: Sender) -> PolicyShow | None:
        """For a widget whose page cannot play its policy; None if it can."""
        return cls(trainer, outbox.put, partial(outbox.log, "error")) if trainer.played_by_process else None

    def send(self, message: Mapping[str, Any]) -> None:
        """A page's question. Raises RuntimeError if this machine lacks what the policy needs, MemoryError."""
        with self._lock:
            if self._child is None and message.get("start") is not None:
                self._start()
            if self._child is not None:
                self._child.send(dict(message))
            else:
                self._ask_again(message)

    def follow(self) -> None:
        """The trainer has changed: another run is played by another process."""
        with self._lock:
            if self._child is not None and self._trainer.shown().block is not self._block:
                self._end()
                self._put(messages.DecideAgain(None, None).to_json())

    def close(self) -> None:
        """End the process; twice is fine."""
        with self._lock:
            self._closed = True
            self._end()

    def _start(self) -> None:
        from dshq_widget.runtime.supervisor import supervisor  # numba comes with it; keep it out of the import

        if self._closed:
            return
        shown = self._trainer.shown()
        job, blocks = {**shown.job, "drill": self._trainer.drill.to_json()}, {"weights": shown.block}
        start = supervisor(os.getpid()).start
        self._block = shown.block
        self._child = start(shown.role, job, blocks, self._receive, self._ended, stuck_seconds=STUCK_SECONDS)

    def _ask_again(self, message: Mapping[str, Any]) -> None:
        """There is nobody who knows the plan: the page is to say how its match stands."""
        self._put(messages.DecideAgain(message["page"], message["plan"]).to_json())

    def _receive(self, child: Child, message: Mapping[str, Any]) -> None:
        with self._lock:
            if child is not self._child or message["type"] not in protocol.MESSAGES["kernel_to_page"]:
                return
        found = {key: value for key, value in message.items() if key != "data"}
        data = base64.b64decode(message.get("data", ""))
        self._put({**found, "buffers": [data]} if data else found)

    def _ended(self, child: Child, end: Exit) -> None:
        with self._lock:
            if child is not self._child:
                return
            self._end()
            if not end.expected:
                self._fail(f"the policy's process has stopped ({end.error}). Press Reset match to restart it.")

    def _end(self) -> None:
        child, self._child, self._block = self._child, None, None
        if child is not None:
            child.stop()
            self._leaving.add(child)
