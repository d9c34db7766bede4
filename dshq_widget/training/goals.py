"""The goals of `Trainer.wait`, the budgets of `Trainer.train_for`, and the progress towards them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from dshq_widget.contract.finite import finite
from dshq_widget.contract.game_spec import GameSpec
from dshq_widget.contract.setting import shown
from dshq_widget.contract.settings import FIELDS
from dshq_widget.policy.action_spaces import GymError
from dshq_widget.training.history import Progress
from dshq_widget.training.status import TrainingStatus

log = logging.getLogger("dshq_widget")

PROBE_SECONDS = 1.0
"""Seconds of training used to measure the rate; at most a quarter of the budget."""
WIN_SHARE_FLOOR = 0.2
"""A win rate against the drill's script counts only with this share of all matches won."""


class Goals:
    """Any of: seconds of training, updates in all, a win rate against the drill's script, a mean return.

    Raises ValueError if no goal is given, if one is not a finite number of at least 0 (a return may be negative), or if
    the drill has no such measure.
    """

    def __init__(
        self,
        spec: GameSpec,
        seconds: float | None,
        updates: int | None,
        win_rate: float | None,
        return_mean: float | None,
    ) -> None:
        given = {"seconds": seconds, "updates": updates, "win_rate": win_rate, "return_mean": return_mean}
        found = {key: finite(value) for key, value in given.items() if value is not None}
        if not found or any(value is None or not (value >= 0 or key == "return_mean") for key, value in found.items()):
            raise ValueError(
                "wait() needs one of seconds=, updates=, win_rate= or return_mean=, a finite number of at least 0, "
                f"got {_said(given)}"
            )
        self._wanted = {key: value for key, value in found.items() if value is not None}
        alone = spec.sides == 1
        if alone and win_rate is not None:
            raise ValueError(f"{spec.name!r} has one side, so it has no win rate: use wait(return_mean=)")
        if not alone and return_mean is not None:
            raise ValueError(f"{spec.name!r} has two sides: use wait(win_rate=) instead of return_mean=")

    def share(self, metrics: Mapping[str, float | int], passed: float | None) -> float:
        """Progress towards the nearest goal, 0..1; `passed` is in seconds, None before training has begun."""
        wanted, shares = self._wanted, [0.0]
        if "seconds" in wanted and passed is not None:
            reached = passed / wanted["seconds"] if wanted["seconds"] else 1.0
            reported = not wanted["seconds"] or "agent_steps" in metrics  # a starved learner has nothing to show yet
            shares.append(reached if reported else min(reached, 0.99))
        if "updates" in wanted:
            shares.append(metrics.get("updates", 0) / wanted["updates"] if wanted["updates"] else 1.0)
        if "win_rate" in wanted:
            counts = metrics.get("win_share", 0.0) >= WIN_SHARE_FLOOR
            reached = metrics.get("win_rate_ema", 0.0) / wanted["win_rate"] if wanted["win_rate"] else 1.0
            shares.append(reached if counts else min(reached, 0.99))
        if "return_mean" in wanted and "evaluated_return" in metrics:
            found, mean = metrics["evaluated_return"], wanted["return_mean"]
            shares.append(1.0 if found >= mean else min(max(found / mean, 0.0), 0.99) if mean > 0 else 0.0)
        return min(max(shares), 1.0)


class Budget:
    """What one run may use up: updates, agent steps, or seconds of training. The learner counts and ends by itself.

    Raises ValueError unless exactly one is given, a whole number of at least 1, or finite seconds of more than 0.
    """

    def __init__(self, updates: int | None, agent_steps: int | None, seconds: float | None) -> None:
        every = {"updates": updates, "agent_steps": agent_steps, "seconds": seconds}
        given = [(key, finite(value)) for key, value in every.items() if value is not None]
        what, amount = given[0] if len(given) == 1 else ("", None)
        if amount is None or not (amount > 0 if what == "seconds" else amount >= 1 and amount == int(amount)):
            raise ValueError(
                "training needs one of updates=, agent_steps= (whole numbers of at least 1) or seconds= (finite, more "
                f"than 0), got {_said(every)}"
            )
        self.what, self.amount = what, amount if what == "seconds" else int(amount)
        self._begin: dict[str, float] = {}
        self._before = self._now = 0.0

    def spend(self, seconds: float) -> None:
        """The learner has spent these, those included in which it waited: for its pace, or for samples."""
        self._now = seconds

    def limits(self, metrics: Mapping[str, float | int]) -> dict[str, float]:
        """The learner's limits (learning/limits.py). `metrics` are those with which the run starts; a learner that
        replaces a dead one gets what is left.
        """
        self._begin = self._begin or {key: metrics.get(key, 0) for key in ("updates", "agent_steps", "seconds")}
        self._before, self._now = self._before + self._now, 0.0
        if self.what == "seconds":
            return {"seconds": self.amount - self.used(metrics)}
        return {self.what: self._begin[self.what] + self.amount}

    def used(self, metrics: Mapping[str, float | int], what: str = "") -> float:
        """How much of it, or of `what`, this run has used."""
        key = what or self.what
        used = metrics.get(key, 0) - self._begin.get(key, 0)
        return max(used, self._before + self._now) if key == "seconds" else used

    def share(self, metrics: Mapping[str, float | int]) -> float:
        """The share used, 0..1."""
        return min(max(self.used(metrics) / self.amount, 0.0), 1.0)

    def schedule(self, metrics: Mapping[str, float | int]) -> int | None:
        """The `total_agent_steps` at which schedules end with the budget; None while it is not known. A budget in
        seconds is turned into agent steps by the rate of the first seconds.
        """
        done = self._begin.get("agent_steps", metrics.get("agent_steps", 0))
        if self.what == "agent_steps":
            return _length(done + self.amount)
        if self.what == "updates":
            return None
        steps, seconds = self.used(metrics, "agent_steps"), self.used(metrics, "seconds")
        if steps <= 0 or seconds < min(PROBE_SECONDS, self.amount / 4):
            return None
        return _length(done + steps / seconds * self.amount)


class ScheduleEnd:
    """Lets schedules end with a budget, once it is known how many agent steps that is, unless `total_agent_steps` was
    `chosen`. Seconds differ from run to run, so they say nothing in `lock_step`.
    """

    def __init__(self, budget: Budget, chosen: bool, lock_step: bool) -> None:
        self._budget, self._open = budget, not chosen and not (lock_step and budget.what == "seconds")

    def found(self, metrics: Mapping[str, float | int]) -> int | None:
        """The `total_agent_steps` to set now; None before it is known, and after it was returned."""
        steps = self._budget.schedule(metrics) if self._open else None
        self._open &= steps is None
        return steps


def _length(agent_steps: float) -> int:
    """The nearest `total_agent_steps` that the setting takes."""
    known = FIELDS["total_agent_steps"]
    return int(min(max(agent_steps, known["min"]), known["max"]))


def _said(given: Mapping[str, object]) -> str:
    return ", ".join(f"{key}={shown(value)}" for key, value in given.items() if value is not None) or "none"


class EnvironmentFailed(RuntimeError):
    """Training has ended because the user's own environment raised an exception. The newest policy stays."""


def failed(sentence: str) -> RuntimeError:
    """The error of training that has failed, as the learner's process wrote it: the exception's name, then its text."""
    return (EnvironmentFailed if sentence.startswith(f"{GymError.__name__}: ") else RuntimeError)(sentence)


def until_over(
    budget: Budget, status: TrainingStatus, changed: threading.Condition, bar: Progress, each: Callable[[], None]
) -> None:
    """Block until the run of this budget has ended, however it ends. Raises RuntimeError if training failed. `each` is
    called now and then while it trains, after every report of the learner at the latest. `changed` is notified
    whenever `status` may have changed, and its lock is held while it changes.
    """
    log.addFilter(bar.interrupted)
    try:
        while True:
            with changed:  # whole: between the end of one run and the start of the next it says "stopped"
                now, text, error, metrics = status.status, status.text, status.error, status.metrics
            if now == "error":
                raise failed(error)
            bar.show(budget.share(metrics), text if text.startswith(now) else f"{now}: {text}")
            if now in ("idle", "stopped"):
                return
            if now == "training":
                each()
            with changed:
                changed.wait(0.1)
    finally:
        log.removeFilter(bar.interrupted)
        bar.close()


def wait_for(goals: Goals, status: TrainingStatus, changed: threading.Condition, bar: Progress) -> bool:
    """Block until one of `goals` is reached (True), or training ends or Ctrl-C is pressed (False). Raises RuntimeError
    if training failed. `changed` is as for `until_over`.
    """
    began = None
    log.addFilter(bar.interrupted)
    try:
        while True:
            with changed:
                now, text, error, metrics = status.status, status.text, status.error, status.metrics
            if now == "error":
                raise failed(error)
            if began is None and now == "training":
                began = time.monotonic()
            done = goals.share(metrics, None if began is None else time.monotonic() - began)
            bar.show(done, text if text.startswith(now) else f"{now}: {text}")
            if done >= 1 or now in ("idle", "stopped"):
                return done >= 1
            with changed:
                changed.wait(0.1)
    except KeyboardInterrupt:
        bar.note("stopped waiting; training continues")
        return False
    finally:
        log.removeFilter(bar.interrupted)
        bar.close()
