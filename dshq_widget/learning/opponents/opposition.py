"""The policies that play against the learner: fixed ones, and earlier ones that a competition has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dshq_widget.contract.setting import ConfigError
from dshq_widget.contract.settings import TrainConfig, is_version
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.opponents.competition import Competition, Contest
from dshq_widget.learning.opponents.competitions import COMPETITION
from dshq_widget.learning.opponents.slots import TakesOpponents, fixed_opponents, pool_slots
from dshq_widget.learning.parts import Experience
from dshq_widget.learning.run import Companion, Run
from dshq_widget.policy.compatibility import ladder_weights
from dshq_widget.policy.network import PolicySpec


def opposition(
    drill: CompiledDrill,
    spec: PolicySpec,
    source: TakesOpponents,
    config: TrainConfig,
    competition: Competition | None = COMPETITION,
) -> tuple[Companion, ...]:
    """The companions of a run on a drill that rate its policies, if there is a competition, and choose opponents.
    Raises ConfigError for opponents that only a competition has.
    """
    contest = None if competition is None else competition.contest(drill, spec, config)
    chosen = Opposition(drill, spec, source, config, contest)
    return (chosen,) if contest is None else (contest, chosen)


class Opposition(Companion):
    """The policies that play in the games of `source`: some drawn from the competition, again after every match, and
    fixed ones, as the setting `opponents` says.
    """

    def __init__(
        self,
        drill: CompiledDrill,
        spec: PolicySpec,
        source: TakesOpponents,
        config: TrainConfig,
        contest: Contest | None,
    ) -> None:
        self.drill, self.spec, self.source, self.contest = drill, spec, source, contest
        self.pool = pool_slots(config)
        self.fixed = fixed_opponents(config, drill.spec)
        if contest is None and (self.pool or any(map(is_version, self.fixed))):
            raise ConfigError("opponents: earlier versions (pool, v120) need a league, and this package has none")

    def begin(self, run: Run) -> None:
        """The first opponents. Raises ConfigError for a version that the competition does not have."""
        if self.pool or self.fixed:
            before = () if self.contest is None else self.contest.opponents
            self._send(before if len(before) == self.pool else self._drawn())

    def after_update(self, run: Run, experience: Experience, learned: Mapping[str, float]) -> None:
        """Draw new opponents when every match has ended."""
        if self.pool and run.updates % (self._rollouts_per_match(run) * self.source.parts) == 0:
            self._send(self._drawn())

    def _drawn(self) -> Sequence[np.ndarray]:
        assert self.contest is not None
        return self.contest.draw(self.pool)

    def _send(self, drawn: Sequence[np.ndarray]) -> None:
        self.source.set_opponents([*drawn, *map(self._policy, self.fixed)])

    def _policy(self, name: str) -> np.ndarray:
        """The weights of a fixed opponent."""
        if is_version(name):
            assert self.contest is not None
            return self.contest.weights_of(int(name[1:]))
        return ladder_weights(name, self.drill.name, self.spec)

    def _rollouts_per_match(self, run: Run) -> int:
        """Rollouts until every match has ended: an opponent stays for that long."""
        spec = self.drill.spec
        return -(-spec.time_limit // (spec.action_repeat * run.config.rollout_length))
