"""The page as a place where runs take place, besides processes of this machine and clusters."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from dshq_widget.contract.faces.in_page import LearnerWanted, ToLearner
from dshq_widget.contract.game_spec import DrillSpec, Game
from dshq_widget.contract.setting import ConfigError
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.policy import checkpoint
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget.in_page import parts
from dshq_widget.widget.in_page.run import NO_PAGE, PageRun
from dshq_widget.widget.part import Ends, Handler, Part
from dshq_widget.widget.sender import POLL_SECONDS

BLOCKED = (
    "the page's messages wait until this cell ends, so a cell cannot wait for what the page learns: look at w.status "
    "in the next cell, or use JupyterLab 4.4 and ipykernel 7.1, or newer ones"
)


class InPage(Part):
    """Gives a page what it trains with, and starts the widget's own runs there with `engine="page"`."""

    engine = "page"

    def __init__(self) -> None:
        super().__init__()
        self.start = self._start
        self._ends: Ends | None = None
        self._run: PageRun | None = None
        self._runs = 0

    def check(self, trainer: Trainer) -> None:
        """Raises ConfigError for an environment, which only Python can step."""
        if problem := parts.why_not(trainer):
            raise ConfigError(f"engine=page cannot be used: {problem}")

    def join(self, ends: Ends) -> Mapping[str, Handler]:
        """A page may ask for the trainer, offer to train, and speak for its learner."""
        self._ends = ends
        return {"FETCH_TRAINER": self._fetch, "LEARNER_OFFERED": self._offered, "FROM_LEARNER": self._from_learner}

    def follow(self, now: float) -> None:
        """Watches the run."""
        if self._run is not None:
            self._run.follow(now)

    def check_wait(self) -> None:
        """Gives a page the time to offer itself. Raises RuntimeError where none does, or none is heard before the cell
        ends.
        """
        run = self._run
        if run is None or run.over:
            return
        if self._ends is not None and self._ends.blocked():
            raise RuntimeError(BLOCKED)
        while run.learner is None and not run.over:
            if run.asked:
                raise RuntimeError(NO_PAGE)
            time.sleep(POLL_SECONDS)

    def for_export(self, trainer: Trainer, needed: bool, warn: Callable[[str], None]) -> Mapping[str, Any] | None:
        return parts.for_export(trainer, needed, warn)

    # ---- runs

    def _start(
        self,
        drill: Game,
        config: TrainConfig,
        weights: SharedBlock,
        job: Mapping[str, Any],
        on_message: Callable[[Any, Mapping[str, Any]], None],
        on_exit: Callable[[Any, Any], None],
    ) -> PageRun:
        """A run in the first page that offers to train (algorithm.py, `Start`). Raises RuntimeError for what a page
        cannot do.
        """
        ends = self._ends
        assert ends is not None
        trainer = ends.trainer
        if refused := _refused(drill, config, job):
            raise RuntimeError(refused)
        newest = trainer.latest_policy()
        order = {
            "type": "START",
            "spec": drill.spec.to_json(),
            "values": config.to_json(),
            "metrics": trainer.metrics,
            "scenes": list(job["scenes"]),
            "paused": job["paused"],
            "asked": job["asked"],
            "policy": {key: getattr(newest, key) for key in ("version", "step", "layers", "activation")},
        }
        buffers: list[bytes] = []  # behind the weights, which may have to be drawn first
        path = job["resume"]
        saved = checkpoint.load(path) if path else None
        if saved and (saved.version, saved.layers, saved.rules_hash) == (
            newest.version,
            newest.layers,
            drill.rules_hash,
        ):
            with open(path, "rb") as file:
                buffers.append(file.read())
        self._runs += 1
        self._run = PageRun(self._runs, (order, buffers), job, newest, ends, on_message, on_exit)
        ends.outbox.put(LearnerWanted(self._runs).to_json())
        return self._run

    # ---- messages of a page

    def _fetch(self, content: Mapping[str, Any], _: Any) -> None:
        assert self._ends is not None
        ends = self._ends
        relaxed = bool(content.get("relaxed"))
        ends.beside("preparing the page's training", parts.answer, ends.trainer, relaxed, ends.outbox)

    def _offered(self, content: Mapping[str, Any], _: Any) -> None:
        learner = content.get("learner")
        if type(learner) is not int:
            raise ValueError(f"LEARNER_OFFERED needs a learner, a whole number, got {learner!r:.60}")
        if self._run is not None:
            self._run.offered(learner)

    def _from_learner(self, content: Mapping[str, Any], buffers: Any) -> None:
        """Messages of the present run's learner are executed; every other learner is stopped."""
        assert self._ends is not None
        run, learner, number = self._run, content.get("learner"), content.get("run")
        if type(learner) is not int or type(number) is not int:
            raise ValueError(f"FROM_LEARNER needs whole numbers learner and run, got {learner!r:.60}, {number!r:.60}")
        if run is not None and not run.over and (learner, number) == (run.learner, run.number):
            run.receive(content.get("message"), buffers)
        else:
            self._ends.outbox.put(ToLearner(learner, number, {"type": "STOP"}).to_json())


def _refused(drill: Game, config: TrainConfig, job: Mapping[str, Any]) -> str:
    """Why a page cannot make this run, as a sentence; "" if it can."""
    assert isinstance(drill.spec, DrillSpec)
    known = ("pool", "self", "idle", "random", *drill.spec.baselines)
    strangers = [name for name in config.opponents if name not in known]
    if job["limits"]:
        return "a page trains until it is stopped: start it without a budget, and call stop()"
    if job["log_dir"] or job["track"]:
        return "a page writes no metrics to folders or trackers: leave out log_dir and track, or engine=page"
    if strangers and drill.spec.sides == 2:
        names = ", ".join(known)
        return f"{strangers[0]} is no opponent in a page, which has {names}: choose others, or leave out engine=page"
    if config.joint or config.device == "cuda":
        return f"{'joint=True' if config.joint else 'device=cuda'} is not for a page: leave it out, or engine=page"
    return ""
