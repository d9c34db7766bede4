"""The evaluator during training: a few matches against the first baseline and random play at intervals, smoothed; in a
drill of one side the mean return of a hundred episodes.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from dshq_kernels.play.rollout import Player
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.policy.evaluate import evaluate, evaluate_alone, network, opponent
from dshq_widget.policy.network import PolicySpec

MATCHES = 128
EMA = 0.5
"""Weight of the newest evaluation in the smoothed win rate (assumed; 128 matches each)."""
EPISODES = 100
"""Episodes per evaluation of a drill of one side, as for Gymnasium's `reward_threshold`."""
MOST_SHARE = 0.1
"""Largest share of time for evaluation (assumed): after a long one, the next one comes later."""


class Judge:
    """What the evaluators of drills have in common (parts.py): `metrics`, by the flat names of contract/metrics.py, and
    pauses that grow with what an evaluation took.
    """

    def __init__(self, drill: CompiledDrill, seed: int) -> None:
        self.drill, self.seed = drill, seed
        self.alone = drill.spec.sides == 1
        self.metrics: dict[str, float] = {}
        self.episodes = 0
        self._took = 0.0  # seconds

    @property
    def solved(self) -> bool:
        """Whether the newest evaluation reached the drill's target."""
        return self.metrics.get("solved", 0) == 1

    def pause(self, config: TrainConfig) -> float:
        """Seconds from the end of an evaluation to the next."""
        return max(config.evaluate_seconds, self._took / MOST_SHARE)

    def played(self, begin: float) -> None:
        """An evaluation that began at `begin`, of time.monotonic(), is over."""
        self._took = time.monotonic() - begin
        self.metrics |= {"episodes": self.episodes, "duration_ms": 1000 * self._took}


class Evaluator(Judge):
    """Plays the network alone."""

    def __init__(self, drill: CompiledDrill, spec: PolicySpec, seed: int):
        super().__init__(drill, seed)
        self.spec = spec
        self.names = [] if self.alone else [*drill.spec.baselines[:1], "random"]

    def warm_up(self, weights: np.ndarray) -> None:
        """Compile everything; the results are not counted."""
        if self.alone:
            self._alone(weights, 1, 0)
        for name in self.names[:1]:
            self._against(weights, name, 1, 0)

    def _alone(self, weights: np.ndarray, episodes: int, seed: int) -> dict[str, Any]:
        """As `policy.evaluate.evaluate_alone`, with these weights."""
        return evaluate_alone(self.drill, self._player(weights), episodes, seed=seed)

    def _against(self, weights: np.ndarray, name: str, matches: int, seed: int) -> dict[str, Any]:
        """As `policy.evaluate.evaluate`, with these weights."""
        return evaluate(self.drill, self._player(weights), opponent(name, self.drill), matches, seed=seed, name=name)

    def _player(self, weights: np.ndarray) -> Player:
        return network(self.spec.layers, self.spec.activation, weights)

    def play(self, weights: np.ndarray) -> None:
        """One round, against each."""
        begin = time.monotonic()
        if self.alone:
            result = self._alone(weights, EPISODES, self.seed + self.episodes)
            self.metrics["evaluated_return"] = result["return_mean"]
            if result["target"] is not None:
                self.metrics["solved"] = int(result["solved"])
            self.episodes += EPISODES
        for k, name in enumerate(self.names):
            result = self._against(weights, name, MATCHES, self.seed + self.episodes)
            scripted = k == 0 and len(self.names) > 1
            self._smooth("win_rate_ema" if scripted else "win_rate_random", result["win_rate"])
            self._smooth("win_share" if scripted else "win_share_random", result["win_share"])
            self.episodes += MATCHES
        self.played(begin)

    def _smooth(self, name: str, value: float) -> None:
        self.metrics[name] = value if name not in self.metrics else (1 - EMA) * self.metrics[name] + EMA * value
