"""A policy in a file, played without training."""

from __future__ import annotations

from typing import Any

import numpy as np

from dshq_widget.algorithms.dreamer.evaluator import EPISODES, Played, by_policy, matches, play
from dshq_widget.algorithms.dreamer.learner import take_over
from dshq_widget.algorithms.dreamer.model.agent import Dreamer
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.contract import sections
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning import seeds
from dshq_widget.policy.checkpoint import Checkpoint, CheckpointError
from dshq_widget.policy.evaluate import summary


def dreamer_of(saved: Checkpoint, n_actions: int) -> Dreamer:
    """The Dreamer in a file. An untrained one without any weights is as its seed has it.
    Raises CheckpointError for a file without a world model, or of another size.
    """
    settings = sections.read(DreamerSettings, "dreamer", saved.algorithm_settings)
    dreamer = Dreamer(settings, n_actions, saved.seed)
    try:
        found = take_over(dreamer, saved.state)
    except (ValueError, KeyError) as error:
        raise CheckpointError(str(error)) from error
    if not found and saved.version:
        raise CheckpointError("the file has no world model, only a stand-in for it: save it again with Trainer.save")
    return dreamer


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
