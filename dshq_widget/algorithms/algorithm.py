"""The interface of an algorithm to the trainer: a name, and a function that starts the processes of a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from dshq_widget.contract.settings import TrainConfig
    from dshq_widget.runtime.memory import SharedBlock
    from dshq_widget.runtime.supervisor import Child, Exit

Message = Mapping[str, Any]


class Processes(Protocol):
    """The processes of one run. Their messages arrive on the supervisor's thread through the callbacks of `Start`."""

    learner: Child
    workers: list[Child]

    def send(self, message: Message) -> None:
        """Send a command to the learner (protocol.py, kernel_to_learner), and to workers if it concerns them."""
        ...

    def stop(self, seconds: float) -> None:
        """Ask all to end, by force after `seconds`. Returns at once."""
        ...


class Start(Protocol):
    """Starts the processes of a run. Raises MemoryError, or RuntimeError for what is missing on this machine.

    The learner publishes in `weights`; `job` holds the trainer's orders (learning/run.py). `on_message(processes,
    message)` and `on_exit(processes, exit)` report on the learner.
    """

    def __call__(
        self,
        drill: Any,
        config: TrainConfig,
        weights: SharedBlock,
        job: Mapping[str, Any],
        on_message: Callable[[Any, Message], None],
        on_exit: Callable[[Any, Exit], None],
    ) -> Processes: ...


@dataclass(frozen=True)
class Algorithm:
    """One row of the registry."""

    name: str
    """Its name in `Trainer(algorithm=...)`."""
    start: Start
    prepare: Callable[[Any, TrainConfig], None] | None = None
    """Starts to compile, in processes of low priority, what the first run of a drill needs. Returns at once."""


class OneProcess:
    """A run whose learner does everything in one process, the role `role` ("module:function")."""

    def __init__(
        self,
        role: str,
        drill: Mapping[str, Any],
        config: TrainConfig,
        weights: SharedBlock,
        job: Mapping[str, Any],
        on_message: Callable[[Any, Message], None],
        on_exit: Callable[[Any, Exit], None],
        threads: int = 1,
        **how: Any,
    ) -> None:
        """`drill` is the drill as JSON; `how` goes to `Supervisor.start`."""
        from dshq_widget.runtime.supervisor import supervisor

        self._on_message, self._training = on_message, False
        self.workers: list[Child] = []
        self.learner: Child = supervisor(os.getpid()).start(
            role,
            {"drill": drill, "hyper": config.to_json(), "threads": threads, **job},
            {"weights": weights},
            self._receive,
            lambda _child, end: on_exit(self, end),
            threads,
            **how,
        )

    def _receive(self, _child: Child, message: Message) -> None:
        """A starting learner is silent for a while, because importing torch holds the interpreter lock; that is not
        reported.
        """
        self._training |= message.get("phase") == "training"
        if self._training or message["type"] != "HEALTH":
            self._on_message(self, message)

    def send(self, message: Message) -> None:
        """Send a command to the learner."""
        self.learner.send(dict(message))

    def stop(self, seconds: float) -> None:
        """Ask it to end, by force after `seconds`. Returns at once."""
        self.learner.stop(seconds)
