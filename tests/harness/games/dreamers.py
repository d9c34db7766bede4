"""A small dreamer in a file, whose policy nearly always does the same."""

import dataclasses
from pathlib import Path

import numpy as np

from dshq_widget.policy import checkpoint
from dshq_widget.training.trainer import Trainer

SMALL = {"games": 8, "ring": 1024, "batch": 4, "sequence": 8, "prefill": 128, "starts": 8, "horizon": 3, "ratio": 4}
"""Settings with which an update takes a moment."""
SURE = 30.0
"""Logit of the action that it does; one in a hundred is drawn from all, as DreamerV3 has it."""


def stubborn(path: Path, drill: str, action: int) -> Path:
    """A file after two updates, its actor's last layer changed so that it prefers one action."""
    with Trainer(drill, algorithm="dreamer", dreamer=SMALL, evaluate_seconds=3600) as trainer:
        trainer.train_for(updates=2, progress=False)
        saved = checkpoint.load(trainer.save(path))
        n_actions = trainer.drill.spec.n_actions
    name = "train.dreamer.agent.actor.weights"
    weights = saved.state[name].copy()
    weights[-n_actions:] = np.where(np.arange(n_actions) == action, SURE, 0.0)  # the biases are its last weights
    return checkpoint.save(path, dataclasses.replace(saved, state={**saved.state, name: weights}))
