"""The running evaluator: a few matches now and then against the first baseline and against random play, smoothed."""

from __future__ import annotations

import time

import numpy as np

from dshq_widget.drill import CompiledDrill
from dshq_widget.policy import PolicySpec
from dshq_widget.training.evaluate import evaluate, network, opponent

MATCHES = 128
EMA = 0.5
"""Weight of the newest evaluation in the smoothed win rate (assumed; 128 matches each)."""


class Judge:
    """The running evaluator: a few matches now and then against the first baseline and against random play,
    smoothed.
    """

    def __init__(self, drill: CompiledDrill, spec: PolicySpec, seed: int):
        self.drill, self.spec, self.seed = drill, spec, seed
        self.names = [*drill.spec["baselines"][:1], "random"] if drill.spec["sides"] == 2 else []
        self.metrics: dict[str, float] = {}
        self.episodes = 0

    def warm_up(self, weights: np.ndarray) -> None:
        """Compile what evaluation needs; counts nothing."""
        for name in self.names[:1]:
            evaluate(
                self.drill, network(self.spec.layers, self.spec.activation, weights), opponent(name, self.drill), 1
            )

    def play(self, weights: np.ndarray) -> None:
        """One round against each."""
        begin = time.monotonic()
        for k, name in enumerate(self.names):
            player = network(self.spec.layers, self.spec.activation, weights)
            result = evaluate(
                self.drill, player, opponent(name, self.drill), MATCHES, seed=self.seed + self.episodes, name=name
            )
            scripted = k == 0 and len(self.names) > 1
            self._smooth("win_rate_ema" if scripted else "win_rate_random", result["win_rate"])
            self._smooth("win_share" if scripted else "win_share_random", result["win_share"])
            self.episodes += MATCHES
        self.metrics |= {"episodes": self.episodes, "duration_ms": 1000 * (time.monotonic() - begin)}

    def _smooth(self, name: str, value: float) -> None:
        self.metrics[name] = value if name not in self.metrics else (1 - EMA) * self.metrics[name] + EMA * value
