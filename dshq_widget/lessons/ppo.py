"""The package's PPO in this process, on one thread and without a page: for lessons that train once or look inside."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from dshq_kernels.play.loops import EPISODES, RETURN_SUM
from dshq_kernels.play.rollout import Player
from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.ppo.learners import learners
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.contract.settings import of_drill
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.env.batch import compiled
from dshq_widget.learning.games import OwnGames
from dshq_widget.learning.parts import Experience
from dshq_widget.policy.evaluate import network
from dshq_widget.policy.network import PolicySpec


class PPO:
    """One run of PPO on a drill. On one machine the same seed and settings give the same run.

    `settings` are those of `TrainConfig`; the drill's own hold where none is given. Raises ConfigError.
    """

    def __init__(self, drill: str | type[Drill] | CompiledDrill, *, seed: int = 0, **settings: Any):
        self.drill = compiled(drill)
        self.config = of_drill(self.drill.spec).replace({**settings, "seed": seed})
        self.spec = PolicySpec.for_config(self.drill.spec, self.config)
        self.agent_steps = 0
        self._learner = learners["fused"](self.spec, seed=seed)
        self._games = OwnGames(self.drill, self.config, threads=1)

    def set_hyper(self, **settings: Any) -> None:
        """Change settings from the next rollout on. Raises ConfigError."""
        self.config = self.config.replace(settings)

    def rollout(self) -> Experience:
        """Play with the newest policy; the next rollout overwrites it."""
        return self._games.next(self._learner, self.config, version=0)

    def update(self, batch: Experience) -> None:
        """Learn from a rollout."""
        self._learner.update(batch.samples, batch.units, Hyper.at(self.config, self.agent_steps))
        self.agent_steps += batch.units.size * LANES

    def gradient(self, batch: Experience) -> np.ndarray:
        """Slope of the loss by each weight, over the whole rollout: f32 `[spec.floats]`."""
        return self._learner.gradient(batch.samples, batch.units, Hyper.at(self.config, self.agent_steps))[0]

    def train(self, agent_steps: int, seconds: float = float("inf")) -> np.ndarray:
        """Play and learn until the run has made `agent_steps`, or for `seconds`. Returns a row for each update:
        agent steps so far, episodes that ended in it, the sum of their returns.
        """
        rows, end = [], time.monotonic() + seconds
        while self.agent_steps < agent_steps and time.monotonic() < end:
            batch = self.rollout()
            self.update(batch)
            rows.append((self.agent_steps, batch.stats[EPISODES], batch.stats[RETURN_SUM]))
        return np.array(rows)

    @property
    def weights(self) -> np.ndarray:
        """The policy's weights, f32 `[spec.floats]`."""
        return self._learner.blob()

    @property
    def player(self) -> Player:
        """The policy as a player for `evaluate_alone` and `evaluate_pair`."""
        return network(self.spec.layers, self.spec.activation, self.weights)
