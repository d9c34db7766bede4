"""The status of training as a user reads it: status, text, metrics, league. Messages from the learner update it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dshq_widget.contract import protocol
from dshq_widget.contract.setting import printable_lines
from dshq_widget.training.history import History, clean

RUNNING = ("starting", "training", "stopping")
WARNING_SECONDS = 10.0
"""How long a warning stays in the status line."""
SILENT = "the learner is not responding: press Stop, then Train, to continue from its last version"
STUCK = (
    "the learner has not got on for {seconds:.0f} s: if its environment is not just slow, press Stop, then Train, to "
    "continue from the last version"
)
PAUSED_TEXT = (
    "learning is paused; the match keeps playing. Press Next update to learn once, or Resume learning to continue."
)
NAME_LETTERS = 13
"""Of another process's name, at most: the status line has two lines for two names and their shares."""

log = logging.getLogger("dshq_widget")


class TrainingStatus:
    """Changed under the trainer's lock; each attribute may be read without it. `name` is the drill's."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.status, self.error = "idle", ""
        self.text = "not started"
        self.held = False
        """Whether the learner should pause between two updates."""
        self.metrics: dict[str, float | int] = {}
        self.history = History()
        self.replaced = 0
        """How often everything learned was forgotten, or another policy took its place."""
        self.league: list[dict[str, Any]] = []
        self.device, self.workers = "", 0
        self.tuning: dict[str, Any] = {}
        self._warned: list[Callable[[str], None]] = []
        self._phase_text, self._warned_at = "", 0.0
        self._unwell = ""
        """Said while the learner does not get on."""
        self._shortage = ""
        """Said while others leave the learner too little of the processors."""

    @property
    def text(self) -> str:
        """What explains the status. A terminal shows it, and a file or another's code may have a part in it."""
        return self._text

    @text.setter
    def text(self, sentence: str) -> None:
        self._text = printable_lines(sentence)

    @property
    def going(self) -> bool:
        """Whether a learner is starting or training, and has not been asked to stop."""
        return self.status in ("starting", "training")

    @property
    def paused(self) -> bool:
        """Whether a learner runs and is paused between two updates."""
        return self.held and self.going

    def set(self, status: str, text: str) -> None:
        """Set the status, one of protocol.STATUSES, and the text that explains it."""
        assert status in protocol.STATUSES, status
        self.status, self.text = status, text

    def say(self, text: str) -> None:
        """Explain the status by another sentence."""
        self.text = text

    def begin(self) -> None:
        """A learner is being started."""
        self.error = ""
        self.set("starting", "starting the learner")

    def loaded(self, metrics: Mapping[str, float | int], text: str) -> None:
        """What a file says of its run stands in the place of what was measured."""
        self.metrics, self.text = clean(metrics), text

    def listen(self, listener: Callable[[str], None]) -> None:
        """Call `listener` with the text of each warning."""
        self._warned.append(listener)

    def plan(self, held: bool) -> None:
        """Whether the learner that begins next is to pause at once; the text stays."""
        self.held = held

    def hold(self, held: bool) -> None:
        """Record that the learner was asked to pause (`held`) or to resume."""
        self.held = held
        if self.status == "training":
            self.text = self._quiet_text()

    def fail(self, sentence: str) -> None:
        """Training has failed; `sentence` says why."""
        self.error = printable_lines(sentence)
        self.set("error", sentence)

    def warn(self, sentence: str) -> None:
        """Show a warning in the status line for a while, write it to the log and pass it to the listeners."""
        self.text, self._warned_at = sentence, time.monotonic()
        sentence = self.text
        for listener in list(self._warned):
            try:
                listener(sentence)
            except (Exception, SystemExit):  # on whatever thread warns, also the one that keeps the processes
                log.exception("a listener for warnings failed: %r", listener)
        log.warning("%s: %s", self.name, sentence)

    def forget(self) -> None:
        """Clear everything that was learned and measured."""
        self.error = ""
        self.metrics, self.league = {}, []
        self.history.clear()
        self.replaced += 1

    def go_back(self, agent_steps: int, metrics: Mapping[str, float | int]) -> None:
        """The run is what it was after so many steps, with these metrics: what was measured later is dropped."""
        self.metrics = clean({**metrics, "agent_steps": agent_steps})
        self.history.cut(agent_steps)
        self.replaced += 1

    def put_back(self, rows: Iterable[Mapping[str, float]]) -> None:
        """The curves of a policy that was just loaded, oldest first. Ignored once training continues."""
        if not self.going:
            self.history.clear()
            for row in rows:
                self.history.append(row)

    def receive(self, message: Mapping[str, Any]) -> None:
        """Handle one message from the learner."""
        kind = message["type"]
        if kind == "PHASE" and self.status != "stopping":
            self._phase_text, self._shortage = message["text"], ""
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
        elif kind == "PROCESSORS":
            self._shortage = shortage(message["processors"], message["takers"])
            if self.status == "training" and time.monotonic() - self._warned_at > WARNING_SECONDS:
                self.text = self._quiet_text()
        elif kind == "HEALTH" and self.status == "training":
            said, self._unwell = self._unwell, unwell(message)
            if self._unwell:
                self.warn(self._unwell)
            elif self.text == said:
                self.text = self._quiet_text()

    def _quiet_text(self) -> str:
        """The status line of training while there is no warning to show."""
        return PAUSED_TEXT if self.held else self._shortage or self._phase_text


def unwell(health: Mapping[str, Any]) -> str:
    """A sentence about a learner that does not answer, or whose loop stands still for longer than its run allows; ""
    for any other HEALTH. A run that allows no certain time is not judged: its updates may be long.
    """
    if health["health"] == "silent":
        return SILENT
    if health["health"] == "stuck" and "seconds" in health:
        return STUCK.format(seconds=health["seconds"])
    return ""


def shortage(processors: float, takers: Mapping[str, float] | None) -> str:
    """A sentence about a learner that has so few, and who has the others; "" where it has enough (`takers` is None).

    >>> shortage(0.32, {"python3": 1.2, "chrome": 0.4})
    'the learner has 32% of a processor, because python3 takes 120% and chrome 40%'
    """
    if takers is None:
        return ""
    used = [
        f"{cut(name)}{' takes' if k == 0 else ''} {100 * part:.0f}%" for k, (name, part) in enumerate(takers.items())
    ]
    others = " and ".join(used) or "other work takes the rest"
    return f"the learner has {100 * processors:.0f}% of a processor, because {others}"


def cut(name: str) -> str:
    return name if len(name) <= NAME_LETTERS else f"{name[: NAME_LETTERS - 1].rstrip()}…"
