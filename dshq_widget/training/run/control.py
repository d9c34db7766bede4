"""Control of one run at a time: starts, steers and stops its processes, and replaces them when they die."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshq_widget.contract.setting import printable_lines
from dshq_widget.runtime.leaving import Leaving
from dshq_widget.runtime.words import reason_of
from dshq_widget.training.goals import Budget
from dshq_widget.training.latest_policy import LatestPolicy
from dshq_widget.training.status import RUNNING, TrainingStatus

if TYPE_CHECKING:
    from dshq_widget.algorithms.algorithm import Processes
    from dshq_widget.runtime.supervisor import Exit

STOP_SECONDS, ABANDON_SECONDS = 10.0, 2.0
"""How long a learner may take to finish its update and save, or to end when its results are discarded."""
END_SECONDS = 2.0
"""How long processes that are ended by force may take to be gone."""
MOST_LEAVING = 3
"""Abandoned runs whose processes may take so long to end: each has a learner's memory."""
MAX_DEATHS = 3
"""Learners that may die in a row without publishing a new version; then training fails."""

log = logging.getLogger("dshq_widget")


class RunControl:
    """Starts and stops the processes of a run. Every method is called under the trainer's lock, so messages of new
    processes wait until they are registered here.

    `start` starts the processes of a run from the newest policy. Its argument holds `until_solved`, `paused`, `asked`,
    the number of updates to make even while paused, `budget`, a Budget or None, and `again`, whether they replace those
    of a learner that died. Whatever it raises (MemoryError,
    RuntimeError for what is missing on this machine, OSError for a full disk), the run ends as failed, with a sentence.
    """

    def __init__(
        self, status: TrainingStatus, latest: LatestPolicy, start: Callable[[dict[str, Any]], Processes]
    ) -> None:
        self._status, self._latest, self._start = status, latest, start
        self.processes: Processes | None = None
        self.abandoned: Leaving[Processes] = Leaving(MOST_LEAVING)
        self._until_solved = self._start_again = False
        self._budget: Budget | None = None
        self.finished = False
        """Whether the last run ended by itself: its budget was used up, or the drill was solved."""
        self._asked = self._deaths = 0
        self._gone_by = 0.0  # of time.monotonic()

    @property
    def patience(self) -> float:
        """Seconds until processes that were asked to stop are gone, by force at the latest."""
        return max(self._gone_by - time.monotonic(), 0.0)

    def start(self, *, until_solved: bool, budget: Budget | None = None) -> None:
        """Start or continue learning; if a run is stopping, the next one begins after it. A run that is going keeps its
        budget, and ends when it is solved if that was asked for before, or is now.
        """
        if not self._status.going:
            self._until_solved, self._budget = until_solved, budget
        elif until_solved:
            self._until_solved = True
            self.send({"type": "UNTIL_SOLVED"})
        if self._status.paused:
            self.command("RESUME_TRAINING", held=False)
        self._begin(held=False)

    def next_update(self) -> None:
        """Make one update, then pause."""
        if self._status.going:
            self.command("NEXT_UPDATE", held=True)
        else:
            self._until_solved, self._budget = False, None
            self._asked += 1
            self._begin(held=True)

    def command(self, message: str, held: bool) -> None:
        """Send a message that pauses (`held`) or resumes learning. Raises RuntimeError when nothing is training."""
        if not self._status.going or self.processes is None:
            raise RuntimeError("nothing is training: call train() or start() first")
        self.processes.send({"type": message})
        self._status.hold(held)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send any other message to the running processes; the next run gets the same information at its start."""
        if self.processes is not None:
            self.processes.send(message)

    def spend(self, seconds: float) -> None:
        """The learner has spent these seconds of the budget."""
        if self._budget is not None:
            self._budget.spend(seconds)

    def stop(self, autosave: Callable[[], Path], patience: float | None = None) -> bool:
        """Finish the update, write the file named by `autosave`, and end, by force after `patience` seconds. Returns at
        once, and whether there was something to stop.
        """
        self._start_again, self._asked = False, 0
        self._status.plan(False)
        if self._status.going and self.processes is not None:
            usual = STOP_SECONDS if self._status.status == "training" else ABANDON_SECONDS
            self._status.set("stopping", "finishing this update and saving")
            try:
                self.processes.send({"type": "SAVE", "path": str(autosave())})
            except OSError as error:  # no folder for it any more: the newest published policy stays
                self._status.warn(f"this run's optimiser is lost: there is no place for its file ({error})")
            seconds = usual if patience is None else patience
            self._gone_by = time.monotonic() + seconds + END_SECONDS
            self.processes.stop(seconds)
            return True
        if self.processes is not None and patience is not None:  # it is stopping already: hurry
            self._gone_by = min(self._gone_by, time.monotonic() + patience + END_SECONDS)
            self.processes.stop(patience)
        return False

    def begin_again(self, autosave: Callable[[], Path]) -> bool:
        """Let a run that is going begin once more from where it is: with the same end, and paused if it is. Whether one
        was going.
        """
        going, held = self._status.going, self._status.held
        if going and self.stop(autosave):
            self._begin(held=held)
        return going

    def abandon(self) -> None:
        """Ask the processes to stop and ignore their messages from now on. Returns at once."""
        self._start_again, self._asked = False, 0
        processes, self.processes = self.processes, None
        if processes is not None:
            processes.stop(ABANDON_SECONDS)
            self.abandoned.add(processes)

    def over(self, end: Exit) -> None:
        """Handle the end of the processes: stop if it was expected, else replace them."""
        replaceable = self.processes is not None and self.processes.replaceable
        self.processes = None
        if self._status.status == "stopping" or end.expected:
            solved = self._until_solved and self._status.metrics.get("solved") == 1
            self.finished = self._status.status != "stopping"
            how = "solved" if solved else "finished" if self.finished and self._budget else "stopped"
            self._status.set("stopped", f"{how} at version {self._latest.newest().version}")
        else:
            self._replace(end, replaceable)

    def start_again(self) -> None:
        """Start if somebody asked for it while the last run was stopping."""
        if self._start_again:
            self._start_again = False
            self._spawn()

    def _begin(self, held: bool) -> None:
        self._status.plan(held)
        if self._status.status == "stopping":
            self._start_again = True
        elif self._status.status not in RUNNING:
            self._deaths = 0
            self._spawn()

    def _spawn(self, again: bool = False) -> bool:
        """Start the processes, or replace those that died; whether that succeeded. If not, the status says why."""
        self._status.begin()
        self.finished = False
        orders: dict[str, Any] = {"until_solved": self._until_solved, "paused": self._status.held, "asked": self._asked}
        orders |= {"budget": self._budget, "again": again}
        try:
            self.processes = self._start(orders)
            self._asked = 0
        except (Exception, SystemExit) as error:
            if not isinstance(error, (MemoryError, RuntimeError, OSError)):
                log.exception("the learner of %s could not be started", self._status.name)
            self._status.fail(f"training cannot start: {reason_of(error)}")
            return False
        return True

    def _replace(self, end: Exit, replaceable: bool) -> None:
        """Replace a dead learner by one that continues from the last published weights, unless that keeps failing. One
        that raised an exception, the environment's or its own, would raise it again: the run ends with its sentence,
        and the newest policy stays.
        """
        advanced = self._latest.advanced
        self._deaths = 1 if advanced else self._deaths + 1
        if end.traceback:
            log.warning("the learner of %s failed:\n%s", self._status.name, printable_lines(end.traceback))
        if not replaceable or self._deaths >= MAX_DEATHS or end.traceback:
            self._status.fail(end.error)
        elif self._spawn(again=True):
            self._status.warn(f"{end.error}; restarted from version {self._latest.newest().version}")
