"""Games that the learner's own process plays: the samples of a run without rollout processes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np

from dshq_kernels.network import mlp
from dshq_kernels.play.rollout import Rollouts, Samples
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.opponents.slots import Opponents, TakesOpponents, slot_count
from dshq_widget.learning.parts import Experience, SimpleSource, Source
from dshq_widget.learning.scenes.evaluation import TakesScenes
from dshq_widget.learning.telemetry.report import merge
from dshq_widget.learning.worker import make_rollouts


class Player(Protocol):
    """A learner's policy, as the games need it."""

    def blob(self) -> np.ndarray:
        """The policy's flat f32 weights."""
        ...


class Games(Source, TakesOpponents, TakesScenes, Protocol):
    """A source whose games have opponents, and may begin from scenes."""


class OwnGames(SimpleSource):
    """The games played in this process, on `threads` threads."""

    parts = 1
    resident = False
    """Whether the games are on the learner's device."""

    def __init__(self, drill: CompiledDrill, config: TrainConfig, threads: int):
        self.rollouts: Rollouts = make_rollouts(drill, config, config.num_envs, config.seed, threads)
        self.samples = Samples.new(self.rollouts.units, *self.rollouts.sizes)
        self.units = self.rollouts.trainable
        self.opponents = Opponents(self.rollouts.plan, slot_count(config, drill.spec))
        self.drill, self.threads = drill, threads
        self.pool = ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="dshq-play")

    def next(self, learner: Player, config: TrainConfig, version: int) -> Experience:
        """Play one rollout with the learner's own weights."""
        rollouts = self.rollouts
        rollouts.weights[:] = self.drill.term_weights(config.reward_weights)
        rollouts.scene_share = config.scene_share
        params = mlp.pack(rollouts.plan, learner.blob())
        stats = [rollouts.new_stats() for _ in range(self.threads)]

        def play(part: int) -> None:
            rollouts.play(
                params,
                self.samples,
                stats[part],
                gamma=config.gamma,
                gae_lambda=config.gae_lambda,
                policies=self.opponents.params,
                part=part,
            )

        others = [self.pool.submit(play, part) for part in range(1, self.threads)]
        play(0)
        for other in others:
            other.result()
        rollouts.advance()
        return Experience(self.samples, self.units, merge(stats))

    def set_opponents(self, policies: Sequence[np.ndarray]) -> None:
        """Play the pool's games against these earlier policies from now on, one blob per slot."""
        self.opponents.set_opponents(policies)

    def practise(self, scenes: np.ndarray) -> None:
        """Start a share of the new games from one of `scenes`, u32 `[n, words]`, from now on."""
        self.rollouts.practise(scenes)

    def mend(self, samples: Samples) -> None:
        """Restart the games whose samples are not finite."""
        self.rollouts.mend(samples)

    def state(self) -> dict[str, np.ndarray]:
        """The games' state for an exact continuation: every tile's bytes, running returns, memories, the actions'
        generator.
        """
        memories = {"train.memories": self.rollouts.memories.copy()} if self.rollouts.memories.size else {}
        return memories | {
            "train.tiles": self.rollouts.tiles.view(np.uint8).ravel().copy(),
            "train.running": self.rollouts.running.copy(),
            "train.count": np.array(self.rollouts.count, np.int64),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `state` returned if the number of games, the rules and the memory are the same."""
        rollouts = self.rollouts
        tiles = rollouts.tiles.view(np.uint8).reshape(-1)
        places = {"train.tiles": tiles, "train.running": rollouts.running}
        if rollouts.memories.size:
            places["train.memories"] = rollouts.memories
        if all(name in state and state[name].shape == place.shape for name, place in places.items()):
            for name, place in places.items():
                place[:] = state[name]
            rollouts.count = int(state["train.count"])
