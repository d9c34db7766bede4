"""How training stands, as a person reads it: status, sentences, metrics, league. What the learner says changes it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from dshq_widget.contract import protocol
from dshq_widget.training.history import History, clean

RUNNING = ("starting", "training", "stopping")
WARNING_SECONDS = 10.0
"""How long a warning stands in the status line."""
PAUSED_TEXT = "learning is paused and the match goes on; Next update learns once, Resume learning goes on"

log = logging.getLogger("dshq_widget")


class TrainingStatus:
    """Changed under the trainer's lock; each attribute may be read without it. `name` is the drill's."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.status, self.text, self.error = "idle", "not started", ""
        self.held = False
        """Whether the learner is to hold between two updates."""
        self.metrics: dict[str, float | int] = {}
        self.history = History()
        self.league: list[dict[str, Any]] = []
        self.device, self.workers = "", 0
        self.tuning: dict[str, Any] = {}
        self.warned: list[Callable[[str], None]] = []
        """Who is told each warning."""
        self._phase_text, self._warned_at = "", 0.0

    @property
    def going(self) -> bool:
        """Whether a learner runs, or is about to, and nobody has asked it to stop."""
        return self.status in ("starting", "training")

    @property
    def paused(self) -> bool:
        """Whether a learner runs and holds between two updates."""
        return self.held and self.going

    def set(self, status: str, text: str) -> None:
        """One of protocol.STATUSES, and what is going on as a sentence."""
        assert status in protocol.STATUSES, status
        self.status, self.text = status, text

    def hold(self, held: bool) -> None:
        """The learner was told to hold, or to go on."""
        self.held = held
        if self.status == "training":
            self.text = self._quiet_text()

    def fail(self, sentence: str) -> None:
        """Training has ended, and not as anybody wanted."""
        self.error = sentence
        self.set("error", sentence)

    def warn(self, sentence: str) -> None:
        """Say it in the status line for a while, in the log, and to whoever wants to hear warnings."""
        self.text, self._warned_at = sentence, time.monotonic()
        for listener in list(self.warned):
            listener(sentence)
        log.warning("%s: %s", self.name, sentence)

    def forget(self) -> None:
        """Nothing is learned any more."""
        self.error = ""
        self.metrics, self.league = {}, []
        self.history.clear()

    def hear(self, message: Mapping[str, Any]) -> None:
        """What the learner says of itself."""
        kind = message["type"]
        if kind == "PHASE" and self.status != "stopping":
            self._phase_text = message["text"]
            self.set(message["phase"], message["text"])
            if self.status == "training":
                self.text = self._quiet_text()
            self.device = message.get("device", self.device)
            self.workers = message.get("workers", self.workers)
            self.tuning = message.get("tuning", self.tuning)
        elif kind == "METRICS":
            self.metrics = clean(message["values"])
            self.history.append(self.metrics)
            if self.status == "training" and time.monotonic() - self._warned_at > WARNING_SECONDS:
                self.text = self._quiet_text()
        elif kind == "LEAGUE":
            self.league = list(message["rows"])
        elif kind == "WARNING":
            self.warn(message["text"])
        elif kind == "HEALTH" and message["health"] == "silent":
            self.warn("the learner has not answered for some seconds")

    def _quiet_text(self) -> str:
        """The status line of training while nothing more important is to be said."""
        return PAUSED_TEXT if self.held else self._phase_text
