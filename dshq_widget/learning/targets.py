"""What a policy beats so far: the targets of policy/ladder.py one after another, and after how much training."""

from __future__ import annotations

import time
from collections.abc import Mapping

import numpy as np

from dshq_kernels.play.rollout import Player
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.parts import Experience
from dshq_widget.learning.run import Companion, Run
from dshq_widget.policy import ladder
from dshq_widget.policy.evaluate import evaluate, network, opponent
from dshq_widget.policy.network import PolicySpec

MATCHES, CONFIRMING = 64, 256
"""Of a look at a target, and of the second look, which decides: the first passes by luck now and then, and there is one
a second. Who wins 45 % of the decided matches passes one of ten first looks with 86 %, the second with 5 %.
"""
LEAST_RATE, LEAST_SHARE = 0.5, 0.2
"""A target is beaten with more than this share of the decided matches, and at least that share of all matches."""
PAUSE_SECONDS = 1.0
MOST_SHARE = 0.03
"""Largest share of time for these matches (assumed): after long ones, the next ones come later."""
STATE = "train.targets"


class Targets(Companion):
    """Plays the first target that is not beaten yet, about once a second, and reports the seconds of training after
    which each was beaten. None in a drill of one side.
    """

    def __init__(self, drill: CompiledDrill, spec: PolicySpec, seed: int) -> None:
        self.drill, self.spec, self.seed = drill, spec, seed
        self.targets = ladder.targets(drill.spec)
        self.beaten: list[float] = []
        """Seconds of training at which the first targets were beaten, one after another."""
        self.share: float | None = None
        """Share of all matches won against the next one."""
        self._due = 0.0
        self._matches = 0

    @property
    def metrics(self) -> dict[str, float]:
        reached = {target.metric: seconds for target, seconds in zip(self.targets, self.beaten, strict=False)}
        return reached | ({} if self.share is None else {"target_share": self.share})

    def after_update(self, run: Run, experience: Experience, learned: Mapping[str, float]) -> None:
        """Play the next targets when due."""
        begin = time.monotonic()
        if begin < self._due or len(self.beaten) == len(self.targets):
            return
        player = network(self.spec.layers, self.spec.activation, run.learner.blob())
        while len(self.beaten) < len(self.targets):
            other = opponent(self.targets[len(self.beaten)].name, self.drill)
            if not all(self._beats(player, other, matches) for matches in (MATCHES, CONFIRMING)):
                break
            self.beaten.append(run.seconds)
        now = time.monotonic()
        self._due = now + max(PAUSE_SECONDS, (now - begin) / MOST_SHARE)

    def _beats(self, player: Player, other: Player, matches: int) -> bool:
        """Whether fresh matches speak for the player."""
        result = evaluate(self.drill, player, other, matches, seed=self.seed + self._matches)
        self._matches += matches
        self.share = float(result["win_share"])
        return bool(result["win_rate"] > LEAST_RATE and self.share >= LEAST_SHARE)

    def state(self) -> dict[str, np.ndarray]:
        return {STATE: np.array(self.beaten, np.float64)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        if STATE in state:
            self.beaten = [float(seconds) for seconds in state[STATE]][: len(self.targets)]
