"""Keeps one crew at work: started, told, stopped, and replaced when it is lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshq_widget.training.latest_policy import LatestPolicy
from dshq_widget.training.status import RUNNING, TrainingStatus

if TYPE_CHECKING:
    from dshq_widget.algorithms.ppo.processes import DrillProcesses
    from dshq_widget.runtime.supervisor import Exit

STOP_SECONDS, ABANDON_SECONDS = 10.0, 2.0
"""How long a learner may take to finish its update and save, or to end when nothing of it is wanted any more."""
MAX_DEATHS = 3
"""Learners that die one after the other without a new version before training gives up."""

log = logging.getLogger("dshq_widget")


class RunControl:
    """Every method is called under the trainer's lock, so what a crew says first waits until it is known here.

    `hire` starts a crew from the newest policy with orders beside its job: `until_solved`, `paused`, and `asked`, the
    updates to make all the same. It may raise MemoryError.
    """

    def __init__(
        self, standing: TrainingStatus, published: LatestPolicy, hire: Callable[[dict[str, Any]], DrillProcesses]
    ) -> None:
        self._standing, self._published, self._hire = standing, published, hire
        self.crew: DrillProcesses | None = None
        self._until_solved = self._start_again = False
        self._asked = self._deaths = 0

    def start(self, *, until_solved: bool) -> None:
        """Learn, or learn on; where a crew is stopping, the next one begins after it."""
        self._until_solved = until_solved
        if self._standing.paused:
            self.tell("RESUME_TRAINING", held=False)
        self._begin(held=False)

    def next_update(self) -> None:
        """Learn once, then hold."""
        if self._standing.going:
            self.tell("NEXT_UPDATE", held=True)
        else:
            self._until_solved = False
            self._asked += 1
            self._begin(held=True)

    def tell(self, message: str, held: bool) -> None:
        """Whether it is to hold from now on. Raises RuntimeError when nothing is training."""
        if not self._standing.going or self.crew is None:
            raise RuntimeError("nothing is training, so there is nothing to hold: call train() or start() first")
        self.crew.send({"type": message})
        self._standing.hold(held)

    def send(self, message: Mapping[str, Any]) -> None:
        """Any other message, to whoever runs; the next one is told when it starts."""
        if self.crew is not None:
            self.crew.send(message)

    def stop(self, autosave: Callable[[], Path]) -> None:
        """Finish the update, write the file that `autosave` names, and end. Returns at once."""
        self._start_again = self._standing.held = False
        self._asked = 0
        if self._standing.going and self.crew is not None:
            patience = STOP_SECONDS if self._standing.status == "training" else ABANDON_SECONDS
            self._standing.set("stopping", "stopping after this update, and saving")
            self.crew.send({"type": "SAVE", "path": str(autosave())})
            self.crew.stop(patience)

    def abandon(self) -> None:
        """Let go of the crew at once: it is told to stop, and nobody listens to it any more."""
        self._start_again, self._asked = False, 0
        crew, self.crew = self.crew, None
        if crew is not None:
            crew.stop(ABANDON_SECONDS)

    def over(self, end: Exit) -> None:
        """The crew has ended: as it was asked to, or else another one takes its place."""
        self.crew = None
        if self._standing.status == "stopping" or end.expected:
            solved = self._until_solved and self._standing.metrics.get("solved") == 1
            version = self._published.newest().version
            self._standing.set("stopped", f"{'solved' if solved else 'stopped'} at version {version}")
        else:
            self._replace(end)

    def start_again(self) -> None:
        """Begin anew where somebody has asked for it while the last crew was stopping."""
        if self._start_again:
            self._start_again = False
            self._spawn()

    def _begin(self, held: bool) -> None:
        self._standing.held = held
        if self._standing.status == "stopping":
            self._start_again = True
        elif self._standing.status not in RUNNING:
            self._deaths = 0
            self._spawn()

    def _spawn(self) -> None:
        self._standing.error = ""
        self._standing.set("starting", "starting the learner")
        orders = {"until_solved": self._until_solved, "paused": self._standing.held, "asked": self._asked}
        try:
            self.crew = self._hire(orders)
            self._asked = 0
        except MemoryError as error:
            self._standing.fail(str(error))

    def _replace(self, end: Exit) -> None:
        """A crew was lost: another goes on from the last published weights, unless that leads nowhere."""
        advanced = self._published.advanced
        self._deaths = 1 if advanced else self._deaths + 1
        if end.traceback:
            log.warning("the learner of %s failed:\n%s", self._standing.name, end.traceback)
        if self._deaths >= MAX_DEATHS or (end.traceback and not advanced):
            self._standing.fail(end.error)
            return
        self._spawn()
        self._standing.warn(f"{end.error}; a new learner goes on from version {self._published.newest().version}")
