"""Train for a number of seconds, with schedules that end at that time."""

from __future__ import annotations

from collections.abc import Collection

from dshq_widget.training.trainer import Trainer

PROBE_SECONDS = 1.0
"""Seconds of training used to measure the rate; at most a quarter of the budget."""


def train_for(trainer: Trainer, seconds: float, *, planned: Collection[str] = (), progress: bool = True) -> None:
    """Start, and return once training has run for `seconds`; the learner continues until it is stopped.

    Schedules run on agent steps. Their length, `total_agent_steps`, is set from `seconds` and the rate measured at the
    start, unless the drill or the caller (`planned`) set it or the run is in lock-step.
    """
    trainer.start()
    trainer.wait(seconds=0, progress=progress)
    if trainer.config.deterministic or "total_agent_steps" in {*trainer.drill.spec["training"], *planned}:
        trainer.wait(seconds=seconds, progress=progress)
        return
    probe = min(PROBE_SECONDS, seconds / 4)
    trainer.wait(seconds=probe, progress=False)
    steps, passed = trainer.metrics.get("agent_steps", 0), trainer.metrics.get("seconds", 0.0)
    if steps and passed > 0:
        trainer.set_hyper(total_agent_steps=max(1000, int(steps / passed * seconds)))
    trainer.wait(seconds=seconds - probe, progress=progress)
