"""The league's part in a run: its rounds, the collapse guard, and the way back to the champion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dshq_widget.contract.settings import TrainConfig, is_version
from dshq_widget.learning.league.collapse_guard import CollapseGuard
from dshq_widget.learning.league.league import League
from dshq_widget.learning.opponents.competition import Contest
from dshq_widget.learning.opponents.slots import fixed_opponents
from dshq_widget.learning.parts import Experience
from dshq_widget.learning.run import Run


class Rounds(Contest):
    """Rates the policy against earlier ones and pinned opponents, and reverts it when it collapses."""

    def __init__(self, league: League, config: TrainConfig) -> None:
        self.league = league
        league.keep(int(name[1:]) for name in fixed_opponents(config, league.drill.spec) if is_version(name))
        self.guard = CollapseGuard()

    @property
    def metrics(self) -> dict[str, float]:
        return self.league.metrics

    @property
    def opponents(self) -> Sequence[np.ndarray]:
        return self.league.opponents

    def draw(self, count: int) -> Sequence[np.ndarray]:
        return self.league.draw(count)

    def weights_of(self, version: int) -> np.ndarray:
        return self.league.weights_of(version)

    def begin(self, run: Run) -> None:
        """The first snapshot of a run that has none. One that continues from an older policy forgets the later ones."""
        self.league.go_back(run.agent_steps)
        if self.league.pinned and not self.league.snapshots:
            self._hold_round(run)

    def after_update(self, run: Run, experience: Experience, learned: Mapping[str, float]) -> None:
        """Rate the policy when due, and revert to the champion if training has collapsed."""
        problem = self.guard.after_update(learned)
        if self.league.due(run.updates, run.agent_steps, run.config.snapshot_every):
            fell = self._hold_round(run)
            problem = problem or fell
        if problem and run.config.collapse_guard and self.league.champion is not None:
            self._revert(run, problem)

    def weights_replaced(self) -> None:
        self.guard.start_over()
        self.league.succession.test.start_over()

    def rewards_changed(self) -> None:
        self.guard.start_over()
        self.league.succession.rewards_changed()

    def _revert(self, run: Run, why: str) -> None:
        """Revert to the champion's weights with a smaller learning rate."""
        champion = self.league.champion
        assert champion is not None
        run.slow_down()
        run.replace_weights(champion.weights)
        back = f"reverted to champion v{champion.version}; continuing with the learning rate times {run.rate:.3g}"
        run.warn(f"{back}: {why}")

    def _hold_round(self, run: Run) -> str:
        hyper: dict[str, Any] = run.learner.schedule(run.progress)
        policy = (run.learner.blob(), run.version, run.agent_steps, run.updates, hyper)
        problem = self.league.hold_round(*policy, watch=run.config.collapse_guard)
        try:
            run.channel.send({"type": "LEAGUE", "rows": self.league.rows()})
        except ValueError as error:  # a file's league may be larger than any that a run has
            run.warn(f"the league's table is not shown: {error}")
        return problem

    def state(self) -> dict[str, np.ndarray]:
        return {**self.league.state(), "train.guard": self.guard.state()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        self.league.restore(state)
        if "train.guard" in state:
            self.guard.restore(state["train.guard"])
