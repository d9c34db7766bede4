"""The goals of `Trainer.wait` and the progress towards them."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from dshq_widget.training.history import Progress
from dshq_widget.training.status import TrainingStatus

WIN_SHARE_FLOOR = 0.2
"""A win rate against the drill's script counts only with this share of all matches won."""


class Goals:
    """Any of: seconds of training, updates in all, a win rate against the drill's script, a mean return.

    Raises ValueError if no goal is given, if one is not a number of at least 0 (a return may be negative), or if the
    drill has no such measure.
    """

    def __init__(
        self,
        spec: Mapping[str, Any],
        seconds: float | None,
        updates: int | None,
        win_rate: float | None,
        return_mean: float | None,
    ) -> None:
        given = {"seconds": seconds, "updates": updates, "win_rate": win_rate, "return_mean": return_mean}
        self._wanted = {key: value for key, value in given.items() if value is not None}
        if not self._wanted or any(
            isinstance(value, bool) or not (value >= 0 or key == "return_mean") for key, value in self._wanted.items()
        ):
            raise ValueError(
                "wait() needs one of seconds=, updates=, win_rate= or return_mean=, a number of at least 0"
            )
        alone = spec["sides"] == 1
        if alone and win_rate is not None:
            raise ValueError(f"{spec['name']!r} has one side, so it has no win rate: use wait(return_mean=)")
        if not alone and return_mean is not None:
            raise ValueError(f"{spec['name']!r} has two sides: use wait(win_rate=) instead of return_mean=")

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


def wait_for(goals: Goals, status: TrainingStatus, changed: threading.Condition, bar: Progress) -> bool:
    """Block until one of `goals` is reached (True), or training ends or Ctrl-C is pressed (False). Raises RuntimeError
    if training failed. `changed` is notified whenever `status` may have changed.
    """
    began = None
    try:
        while True:
            if status.status == "error":
                raise RuntimeError(status.error)
            if began is None and status.status == "training":
                began = time.monotonic()
            done = goals.share(status.metrics, None if began is None else time.monotonic() - began)
            now, text = status.status, status.text
            bar.show(done, text if text.startswith(now) else f"{now}: {text}")
            if done >= 1 or status.status in ("idle", "stopped"):
                return done >= 1
            with changed:
                changed.wait(0.1)
    except KeyboardInterrupt:
        bar.note("stopped waiting; training continues")
        return False
    finally:
        bar.close()
