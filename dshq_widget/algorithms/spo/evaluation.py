"""What SPO reports of its searches: how they went, and how well the policy does when it searches."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from dshq_kernels.search.particles import ALIVE, ENTROPY, ESS
from dshq_widget.algorithms.spo.games import SearchedGames
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.evaluator import MOST_SHARE
from dshq_widget.learning.parts import Experience
from dshq_widget.learning.run import Companion, Run
from dshq_widget.policy.evaluate import evaluate, evaluate_alone, network, opponent
from dshq_widget.policy.search import searching

EPISODES = 32
"""Of an evaluation with search; `num_eval_episodes` of the reference."""


class SearchReport(Companion):
    """Metrics of the searches since the last report, and an evaluation with search beside that of the policy alone."""

    def __init__(self, drill: CompiledDrill, games: SearchedGames, seed: int) -> None:
        self.drill, self.games, self.seed = drill, games, seed
        self.simulated = 0.0
        self._trace = games.search.trace
        self._metrics: dict[str, float] = {}
        self._next, self._episodes = 0.0, 0
        self._played = self._seconds = 0.0

    @property
    def metrics(self) -> dict[str, float]:
        trace = self.games.search.trace
        new, self._trace = trace - self._trace, trace
        searches, played = new[-1, 0], new[-1, 1]
        if searches:
            last = new[-2] / searches
            self._metrics |= {"search_ess": last[ESS], "search_alive": last[ALIVE], "search_entropy": last[ENTROPY]}
        self.simulated += played
        seconds = self.games.seconds - self._seconds
        if played and seconds > 0:
            self._metrics["simulated_steps_per_second"] = played / seconds
        self._seconds = self.games.seconds
        return self._metrics | {"simulated_steps": self.simulated}

    def after_update(self, run: Run, experience: Experience, learned: Mapping[str, float]) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        s, spec = self.games.settings, self.drill.spec
        player = network(run.spec.layers, run.spec.activation, run.learner.blob())
        own = s.search(run.learner.player.temperature)
        how = searching(self.drill, s.num_particles, s.search_depth, run.config, own)
        seed = self.seed + self._episodes
        if spec.sides == 1:
            found = evaluate_alone(self.drill, player, EPISODES, seed=seed, searching=how)
            self._metrics["searched_return"] = found["return_mean"]
        else:
            against = opponent("scripted", self.drill)
            found = evaluate(self.drill, player, against, EPISODES, seed=seed, searching=how)
            self._metrics["searched_win_rate"] = found["win_rate"]
        self._episodes += EPISODES
        took = time.monotonic() - now
        self._next = time.monotonic() + max(run.config.evaluate_seconds, took / MOST_SHARE)

    def state(self) -> dict[str, np.ndarray]:
        return {"train.spo.simulated": np.array(self.simulated + (self.games.search.trace - self._trace)[-1, 1])}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        if "train.spo.simulated" in state:
            self.simulated = float(state["train.spo.simulated"])
