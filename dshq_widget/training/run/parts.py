"""The parts of a trainer put together: the lock under which they change, and what arrives from the learner."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshq_widget.learning.scenes.arranged import Scenes
from dshq_widget.policy import checkpoint
from dshq_widget.system.ending import deferred
from dshq_widget.training.latest_policy import LatestPolicy
from dshq_widget.training.listeners import Listeners
from dshq_widget.training.run.config import RunConfig
from dshq_widget.training.run.control import ABANDON_SECONDS, RunControl
from dshq_widget.training.run.files import RunFiles
from dshq_widget.training.run.start import RunStart
from dshq_widget.training.run.state import RunState
from dshq_widget.training.status import RUNNING, TrainingStatus
from dshq_widget.training.untrained import Drawing

if TYPE_CHECKING:
    from dshq_widget.algorithms.algorithm import Processes, Start
    from dshq_widget.drill.compiled import CompiledDrill
    from dshq_widget.gyms.environment import Environment
    from dshq_widget.runtime.supervisor import Exit


class RunParts:
    """`lock` is held while any part changes, and `changed` is notified afterwards; what `Trainer` says of the arguments
    holds here. Each part has its own fields, and only its methods change them. Raises OSError for a `log_dir` that
    cannot be used.
    """

    def __init__(
        self,
        config: RunConfig,
        engine: Mapping[str, str],
        *,
        log_dir: str | os.PathLike[str] | None,
        autosave: str | os.PathLike[str] | None,
        keep_in: Path | None,
        start: Start | None,
        gentle: bool,
        track: str,
    ) -> None:
        drill = config.drill
        self.algorithm, self.config, self.engine = config.algorithm, config, engine
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.listeners = Listeners()
        self.status = TrainingStatus(drill.spec.name)
        self.files = RunFiles(drill.name, log_dir, keep_in, self.status.warn, autosave)
        self.scenes = Scenes(drill.spec)
        untrained = config.untrained()
        if config.algorithm.own is not None:  # whoever gave it hears now what is wrong with it
            untrained.draw()
        self.latest = LatestPolicy(untrained)
        self.drawing = Drawing(self.notify, self._undrawn)
        self.state = RunState(drill, config, self.latest, self.status, self.scenes, self.files)
        self.starts = RunStart(config, self.latest, self.state, engine, start, gentle, track)
        self.control = RunControl(self.status, self.latest, self._start)
        self._closed = False

    @property
    def drill(self) -> CompiledDrill | Environment:
        """The game as it is now: its reward terms may change."""
        return self.config.drill

    @contextlib.contextmanager
    def uninterrupted(self) -> Iterator[Callable[[], None]]:
        """Under the lock, and Ctrl-C comes after the block: nothing is half changed. The block calls what it is given
        where it has changed something: whoever listens is told afterwards.
        """
        told = list[bool]()
        try:
            with self.lock, deferred():
                yield lambda: told.append(True)
        finally:
            if told:
                self.notify()

    @contextlib.contextmanager
    def change(self) -> Iterator[None]:
        """Change the parts in the block, under the same. Raises RuntimeError after `close`."""
        with self.uninterrupted() as changed:
            self.check_open()
            yield
            changed()

    def check_open(self) -> None:
        """Raises RuntimeError after `close`."""
        if self._closed:
            raise RuntimeError("this trainer is closed: create a new one, from a .dshq file if you saved it")

    def notify(self) -> None:
        """Something readable has changed."""
        with self.changed:
            self.changed.notify_all()
        self.listeners.notify()

    def claim(self) -> None:
        """The folder or file that was chosen is this run's alone from now on; under the lock. Raises ClaimError."""
        self.files.claim(
            lambda: self.control.processes is None and not self.status.going,
            self.lock,
            lambda: self.files.leave(self.latest.newest(), not self.algorithm.plays_alone),
        )

    def newest(self) -> checkpoint.Checkpoint:
        """The newest policy without the optimiser's state; under the lock."""
        return self.state.to_play(self.latest.newest())

    def stop(self, seconds: float | None = None) -> None:
        """Stop training; see `Trainer.stop`."""
        with self.uninterrupted() as changed:
            if self.control.stop(self.files.autosave, seconds):
                changed()

    @contextlib.contextmanager
    def or_stop(self) -> Iterator[None]:
        """Ctrl-C in the block, which starts a run, stops it."""
        try:
            yield
        except KeyboardInterrupt:
            self.stop()
            raise

    def close(self) -> None:
        """End training and release everything; closing twice is fine. A learner that trains may write its file first,
        if that stays, or if nothing else has what it has learned: Ctrl-C waits those seconds, too.
        """
        with self.uninterrupted() as changed:
            if self._closed:
                return
            self._closed = True
            changed()
            saves = self.status.status in ("training", "stopping")
            try:
                if saves and (self.files.stays or not self.algorithm.plays_alone):
                    self.control.stop(self.files.autosave, ABANDON_SECONDS)
                    self.changed.wait_for(lambda: self.control.processes is None, self.control.patience)
            finally:
                self.control.abandon()
                newest = self.latest.newest()
                self.latest.release()
                if self.status.status in RUNNING:
                    self.status.set("stopped", "closed")
                self.files.close(newest, not self.algorithm.plays_alone)

    def _undrawn(self, why: str) -> None:
        with self.lock:
            self.status.warn(why)

    # ---- the learner process

    def _start(self, orders: Mapping[str, Any]) -> Processes:
        return self.starts.processes(orders, self.on_message, self.on_exit)

    def on_message(self, processes: Processes, message: Mapping[str, Any]) -> None:
        """A message of these processes' learner; on the supervisor's thread."""
        with self.lock:
            if message["type"] == "CHECKPOINT" and self.files.came_late(message["path"]):
                return
            if processes is not self.control.processes:
                return
            if message["type"] == "SCENES":
                self.scenes.measured(message["rows"])
            elif message["type"] == "CHECKPOINT":
                self.files.written(message["path"])
            elif message["type"] == "POLICY":
                self.latest.arrive(message["policy"])
            else:
                self.status.receive(message)
                if "spent" in message:
                    self.control.spend(message["spent"])
        self.notify()

    def on_exit(self, processes: Processes, end: Exit) -> None:
        """These processes have ended; on the supervisor's thread."""
        with self.lock:
            if processes is not self.control.processes:
                self.control.abandoned.gone(processes)
                return
            self.state.take_back()
            self.control.over(end)
            if self.status.status == "stopped":
                self.state.take_arriving()
                self.control.start_again()
        self.notify()
