"""The learner process of a Gymnasium environment: the loop of loop.py over environments that it steps itself.

Role `dshq_widget.algorithms.ppo.gym_run:run`. There are no rules to compile, no league and no scenes; files, faults,
steering and metrics are the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from dshq_widget.algorithms.ppo.drill_run import Session, choose_device, train
from dshq_widget.algorithms.ppo.gym_games import GymGames, processes
from dshq_widget.algorithms.ppo.learners.gym_ppo import GymPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.gyms.environment import Environment
from dshq_widget.learning.entropy_guard import EntropyGuard
from dshq_widget.learning.pace import Pace
from dshq_widget.learning.writers import Logs
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel
from dshq_widget.runtime.slots import WeightSlots


def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Train until told to stop. `job` is made by gym_crew.py."""
    session = GymSession(channel, job, blocks)
    try:
        train(session)
    finally:
        session.games.close()


class GymSession(Session):
    """What differs from a drill's session."""

    drill: Environment  # type: ignore[assignment]  # it has what the loop reads of a drill
    games: GymGames  # type: ignore[assignment]

    def __init__(self, channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]):
        self.channel, self.job = channel, job
        self.config = TrainConfig.from_values(job["hyper"])
        self.drill = Environment(job["drill"])
        self.threads = int(job.get("threads") or os.environ.get("OMP_NUM_THREADS") or 1)
        self.spec = PolicySpec.for_config(self.drill.spec, self.config)
        self.device = choose_device("cpu" if self.config.deterministic else self.config.device)
        self._say(f"preparing the learner on the {'GPU' if self.device == 'cuda' else 'CPU'}")
        self.learner = self._make_learner()
        self.slots = WeightSlots.attach(blocks["weights"], self.spec.floats)
        self._say(f"making {self.config.num_envs} environments {self.drill.spec['title']}")
        self.workers = processes(self.drill, self.config, int(job["processors"]))
        self.games = GymGames(self.drill, self.config, self.workers > 0)
        self.judge = self.games.episodes  # type: ignore[assignment]
        self.rehearsal = NoScenes()  # type: ignore[assignment]
        self.entropy = EntropyGuard()
        self.logs = Logs(job["log_dir"], self.drill.spec) if job.get("log_dir") else None
        self.pace = Pace(bool(job.get("paused")), int(job.get("asked", 0)))
        self.skips, self.returns = 0, 0
        self.metrics = {}
        self.agent_steps, self.updates, self.seconds, self.rate = 0, int(job.get("updates", 0)), 0.0, 1.0
        self._resume()
        self.version = self.slots.latest

    def first_round(self) -> bool:
        """Play and learn a little at a learning rate of 0 (torch's first calls are slow), and say who does what."""
        begin = self.config.replace({"rollout_length": 1})
        warm = self._make_learner()
        batch = self.games.next(warm, begin, 0)
        warm.update(batch.samples, batch.units, Hyper(learning_rate=0.0))
        where = "the GPU" if self.device == "cuda" else f"{self.threads} thread{'s' * (self.threads > 1)}"
        how = "each in a process of its own" if self.workers else "in one process"
        why = f"{self.config.num_envs} environments {how}"
        team = {"device": self.device, "workers": self.workers, "threads": self.threads}
        tuned = {"workers": self.workers, "threads": self.threads, "num_envs": self.config.num_envs, "why": why}
        phase = {"type": "PHASE", "phase": "training", "text": f"training on {where}, {why}"}
        self.channel.send({**phase, **team, "tuning": tuned})
        return True

    def learn(self, samples: Any, units: np.ndarray) -> dict[str, float]:
        """As of drills; but the entropy floor is about choices: that of a distribution over numbers may be negative."""
        if self.drill.actions.kind == "box":
            self.config = self.config.replace({"min_entropy": 0.0})
        return super().learn(samples, units)

    def validate(self, samples: Any, units: np.ndarray) -> dict[str, float]:
        """Nothing: this learner is the torch reference."""
        return {}

    def compete(self, learned: dict[str, float]) -> None:
        """Nothing: nobody plays the other side."""

    def practise(self, packed: list[str]) -> None:
        """Nothing: without rules no scene can be arranged."""

    def judged(self) -> dict[str, float]:
        return self.games.episodes.metrics

    def state(self) -> dict[str, np.ndarray]:
        """Nothing: the environments' states cannot be saved, and a continuation begins them anew."""
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Nothing to take over."""

    def _make_learner(self, threads: int = 0) -> GymPPO:
        normalizer = Normalizer(self.spec, self.config.normalize_observations, self.config.normalize_rewards)
        return GymPPO(
            self.spec,
            self.drill.actions,
            self.config.action_distribution,
            seed=self.config.seed,
            threads=threads or self.threads,
            device=self.device,
            normalizer=normalizer,
        )


class NoScenes:
    """Nothing to rehearse, ever."""

    due = False
