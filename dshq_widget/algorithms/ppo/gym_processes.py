"""The one process that trains on a Gymnasium environment; the face of crew.py."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from dshq_widget.algorithms.ppo import tuning
from dshq_widget.algorithms.ppo.processes import Message
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.gyms.environment import Environment
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.supervisor import Child, Exit, supervisor

LEARNER = "dshq_widget.algorithms.ppo.gym_run:run"
STUCK_SECONDS = 60.0
"""An environment may be slow to start, and a rollout of it takes as long as it takes."""


class GymProcesses:
    """Started when made; see `DrillProcesses`."""

    def __init__(
        self,
        drill: Environment,
        config: TrainConfig,
        weights: SharedBlock,
        job: Mapping[str, Any],
        on_message: Callable[[GymProcesses, Message], None],
        on_exit: Callable[[GymProcesses, Exit], None],
    ) -> None:
        machine = tuning.Machine.this(bool(job.get("gentle")))
        processors = 1 if config.deterministic else machine.size
        threads = processors if drill.spec["pixels"] else 1  # more only slow a small network down
        self._on_message, self._ready = on_message, False
        self.workers: list[Child] = []
        self.learner: Child = supervisor(os.getpid()).start(
            LEARNER,
            {"drill": drill.spec, "hyper": config.to_json(), "processors": processors, "threads": threads, **job},
            {"weights": weights},
            self._hear,
            lambda _child, end: on_exit(self, end),
            threads,
            stuck_seconds=STUCK_SECONDS,
        )

    def _hear(self, _child: Child, message: Message) -> None:
        """A learner that starts is silent for a while, which is no news: importing torch holds Python's lock."""
        self._ready |= message.get("phase") == "training"
        if self._ready or message["type"] != "HEALTH":
            self._on_message(self, message)

    def send(self, message: Message) -> None:
        """A command for the learner."""
        self.learner.send(dict(message))

    def stop(self, seconds: float) -> None:
        """Ask it to end, by force after `seconds`. Returns at once."""
        self.learner.stop(seconds)
