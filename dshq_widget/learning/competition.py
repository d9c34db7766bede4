"""Rates the policy against earlier ones and pinned opponents during training, and reverts it when it collapses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from dshq_widget.contract.settings import TrainConfig, is_version
from dshq_widget.learning.collapse_guard import CollapseGuard
from dshq_widget.learning.league import League
from dshq_widget.learning.opponents import fixed_opponents, pool_slots
from dshq_widget.learning.parts import Experience
from dshq_widget.learning.run import Companion, Run
from dshq_widget.policy.compatibility import ladder_weights


class TakesOpponents(Protocol):
    """A source that can play some games against earlier policies."""

    def set_opponents(self, policies: list[np.ndarray]) -> None:
        """One blob for each opponent of the pool."""
        ...


class Competition(Companion):
    """The league and the collapse guard, and the policies that play in the games of `source`: some drawn from the
    league, anew after every match, and fixed ones, as the setting `opponents` says.
    """

    def __init__(self, league: League, source: TakesOpponents, config: TrainConfig) -> None:
        self.league, self.source = league, source
        self.pool = pool_slots(config)
        self.fixed = fixed_opponents(config, league.drill.spec)
        league.kept = {int(name[1:]) for name in self.fixed if is_version(name)}
        self.guard = CollapseGuard()

    @property
    def metrics(self) -> dict[str, float]:
        return self.league.metrics

    def begin(self, run: Run) -> None:
        """The first snapshot of a run that has none, and the first opponents. Raises ConfigError for a version that the
        league does not have.
        """
        league = self.league
        if league.pinned and not league.snapshots:
            self._hold_round(run)
        if self.pool or self.fixed:
            self._send(league.opponents if len(league.opponents) == self.pool else league.draw(self.pool))

    def after_update(self, run: Run, experience: Experience, learned: Mapping[str, float]) -> None:
        """Rate the policy when due, draw new opponents, and revert to the champion if training has collapsed."""
        problem = self.guard.after_update(learned)
        if self.league.due(run.updates, run.agent_steps, run.config.snapshot_every):
            fell = self._hold_round(run)
            problem = problem or fell
        if problem and run.config.collapse_guard and self.league.champion is not None:
            self._revert(run, problem)
        if self.pool and run.updates % self._rollouts_per_match(run) == 0:
            self._send(self.league.draw(self.pool))

    def _send(self, drawn: list[np.ndarray]) -> None:
        self.source.set_opponents([*drawn, *map(self._policy, self.fixed)])

    def _policy(self, name: str) -> np.ndarray:
        """The weights of a fixed opponent."""
        if is_version(name):
            return self.league.weights_of(int(name[1:]))
        return ladder_weights(name, self.league.drill.name, self.league.spec)

    def weights_replaced(self) -> None:
        self.guard.start_over()
        self.league.succession.test.start_over()

    def paid_otherwise(self) -> None:
        self.guard.start_over()
        self.league.succession.paid_otherwise()

    def _revert(self, run: Run, why: str) -> None:
        """Revert to the champion's weights with a smaller learning rate."""
        champion = self.league.champion
        assert champion is not None
        run.slow_down()
        run.replace_weights(champion.weights)
        run.source.forget_before(run.version)
        back = f"reverted to champion v{champion.version}; continuing with the learning rate times {run.rate:.3g}"
        run.warn(f"{back}: {why}")

    def _hold_round(self, run: Run) -> str:
        hyper: dict[str, Any] = run.learner.schedule(run.progress)
        policy = (run.learner.blob(), run.version, run.agent_steps, run.updates, hyper)
        problem = self.league.hold_round(*policy, watch=run.config.collapse_guard)
        run.channel.send({"type": "LEAGUE", "rows": self.league.rows()})
        return problem

    def _rollouts_per_match(self, run: Run) -> int:
        """Rollouts until every match has ended: an opponent stays for that long."""
        spec = run.drill.spec
        return -(-spec.time_limit // (spec.action_repeat * run.config.rollout_length))

    def state(self) -> dict[str, np.ndarray]:
        return {**self.league.state(), "train.guard": self.guard.state()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        self.league.restore(state)
        if "train.guard" in state:
            self.guard.restore(state["train.guard"])
