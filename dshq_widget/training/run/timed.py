"""A run that ends with its budget, and who waits for that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dshq_widget.training.goals import Budget, ScheduleEnd, until_over
from dshq_widget.training.history import Progress
from dshq_widget.training.run.parts import RunParts


class TimedRun:
    """Made under the lock, before the run of this budget starts. `set_hyper` and `stop` are the trainer's. `enough`
    says after each report whether to stop before; None: never.
    """

    def __init__(
        self,
        run: RunParts,
        budget: Budget,
        set_hyper: Callable[..., None],
        stop: Callable[[], None],
        enough: Callable[[], Any] | None,
    ) -> None:
        self._run, self._budget = run, budget
        self._set_hyper, self._stop, self._enough = set_hyper, stop, enough
        chosen = "total_agent_steps" in {*run.drill.spec.training, *run.config.named}
        self._end = ScheduleEnd(budget, chosen, run.config.values.deterministic)
        self._met = False
        self._fit()

    def through(self, bar: Progress) -> bool:
        """Wait until it has ended; whether it ended by itself. An exception here stops it. Raises RuntimeError if it
        failed.
        """
        run = self._run
        try:
            run.notify()
            until_over(self._budget, run.status, run.changed, bar, self._while_training)
        except BaseException:
            self._stop()
            raise
        return self._met or run.control.finished

    def _while_training(self) -> None:
        self._fit()
        if self._enough is not None and self._enough():
            self._met = True
            self._stop()

    def _fit(self) -> None:
        """Let schedules end with the budget as soon as it is known how many agent steps that is; it was not chosen."""
        with self._run.lock:
            metrics = dict(self._run.status.metrics)
        if (steps := self._end.found(metrics)) is not None:
            named = set(self._run.config.named)
            self._set_hyper(total_agent_steps=steps)
            self._run.config.choose(named)
