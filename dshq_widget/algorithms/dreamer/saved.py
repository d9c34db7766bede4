"""A policy in a file, played without training."""

from __future__ import annotations

from typing import Any

import numpy as np

from dshq_widget.algorithms.dreamer.evaluator import EPISODES, Played, by_policy, matches, play
from dshq_widget.algorithms.dreamer.learner import ACTING, WEIGHTS, take_over
from dshq_widget.algorithms.dreamer.model import agent
from dshq_widget.algorithms.dreamer.model.agent import Dreamer
from dshq_widget.algorithms.dreamer.model.sizes import SIZES, acting_floats
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.contract import sections
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning import seeds
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.policy.evaluate import summary

NO_MODEL = "the file has no world model, only a stand-in for it: save it again with Trainer.save"
MOST_UNTRAINED = 8_000_000
"""Weights of a world model that is drawn for a file without any (assumed): the largest sizes take a gigabyte."""


def dreamer_of(saved: Checkpoint, n_actions: int) -> Dreamer:
    """The Dreamer in a file. An untrained one without any weights is as its seed has it.
    Raises CheckpointError for a file without a world model, or of another size.
    """
    settings = sections.read(DreamerSettings, "dreamer", saved.algorithm_settings)
    _check_size(saved, settings.size, n_actions)
    dreamer = Dreamer(settings, n_actions, saved.seed)
    try:
        take_over(dreamer, saved.state)
    except (ValueError, KeyError, RuntimeError, TypeError) as error:  # torch's words for other shapes and types
        raise CheckpointError(f"the file's world model cannot be used: {error}") from error
    return dreamer


def _check_size(saved: Checkpoint, size: str, n_actions: int) -> None:
    """Raises CheckpointError for a file without the weights of the size that it names, before a model of that size is
    made: a few kilobytes may name the largest.
    """
    names = [ACTING] if ACTING in saved.state else [f"{WEIGHTS}{part}.weights" for part in agent.ACTING]
    given, wanted = (
        sum(saved.state[name].size for name in names if name in saved.state),
        acting_floats(SIZES[size], n_actions),
    )
    if not given and (saved.version or wanted > MOST_UNTRAINED):
        raise CheckpointError(NO_MODEL)
    if given and given != wanted:
        raise CheckpointError(
            f"the file's world model and actor have {given:,} weights, and those of size {size!r} for {n_actions} "
            f"actions have {wanted:,}: choose the file's size and drill"
        )


def evaluate_saved(
    drill: CompiledDrill, saved: Checkpoint, episodes: int, seed: int, greedy: bool, against: str
) -> dict[str, Any]:
    """As `policy.evaluate` does it, from frames: `evaluate_alone` of a drill of one side, else matches as side 0
    against a baseline, "random" or "idle".
    """
    dreamer, parts = dreamer_of(saved, drill.spec.n_actions), []
    opponent = (drill.spec.baselines or ["random"])[0] if against == "scripted" else against
    for first in range(0, episodes, EPISODES):
        games = min(EPISODES, episodes - first)
        part = seeds.apart(seed, first)
        policy = by_policy(dreamer, games, part, greedy)
        parts.append(play(drill, policy, games, part, opponent, dreamer.settings.repeat))
    names = ("returns", "lengths", "winners")
    found = Played(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    if drill.spec.sides == 2:
        return matches(found)
    return summary(found.returns, found.lengths, drill.spec.target)
