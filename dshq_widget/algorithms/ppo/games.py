"""Where samples come from: games played by the learner's own threads, or by rollout processes through the ring."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np

from dshq_kernels.network import mlp
from dshq_kernels.play.rollout import Rollouts, Samples
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.parts import Experience
from dshq_widget.learning.report import merge
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.opponents import Opponents, OpponentSlots, slot_count
from dshq_widget.runtime.ring import Lane
from dshq_widget.runtime.worker import chunk_fields, make_rollouts

STALE_VERSIONS = 64
"""Samples made by a policy older than this many versions are thrown away and counted (assumed; normal is 1 or 2)."""


class Player(Protocol):
    """What the games are played with."""

    def blob(self) -> np.ndarray:
        """The policy's flat f32 weights."""
        ...


class OwnGames:
    """The games played in this process, on `threads` threads."""

    resident = False
    """Whether they live on the learner's device."""
    memory_mb = 0.0

    def __init__(self, drill: CompiledDrill, config: TrainConfig, threads: int):
        self.rollouts: Rollouts = make_rollouts(drill, config, config.num_envs, config.seed, threads)
        self.samples = Samples.new(self.rollouts.units, *Samples.sizes(drill.spec))
        self.units = self.rollouts.trainable
        self.opponents = Opponents(self.rollouts.plan, slot_count(config))
        self.drill, self.threads = drill, threads
        self.pool = ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="dshq-play")
        self.dropped = 0

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
        """From now on the pool's games are played against these earlier policies, one blob for each slot."""
        self.opponents.set_opponents(policies)

    def practise(self, scenes: np.ndarray) -> None:
        """From now on a share of the new games begins as one of `scenes`, u32 `[n, words]`."""
        self.rollouts.practise(scenes)

    def forget_before(self, version: int) -> None:
        """Nothing waits here: every rollout is played with the newest weights."""

    def mend(self, samples: Samples) -> None:
        """Begin the games anew whose samples are not finite."""
        self.rollouts.mend(samples)

    def state(self) -> dict[str, np.ndarray]:
        """What an exact continuation needs of the games: every tile's bytes, running returns, the actions'
        generator.
        """
        return {
            "train.tiles": self.rollouts.tiles.view(np.uint8).ravel().copy(),
            "train.running": self.rollouts.running.copy(),
            "train.count": np.array(self.rollouts.count, np.int64),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over what `state` returned, if it is of the same number of games of the same rules."""
        tiles = self.rollouts.tiles.view(np.uint8).reshape(-1)
        if (
            "train.tiles" in state
            and state["train.tiles"].shape == tiles.shape
            and state["train.running"].shape == self.rollouts.running.shape
        ):
            tiles[:] = state["train.tiles"]
            self.rollouts.running[:] = state["train.running"]
            self.rollouts.count = int(state["train.count"])


class RingGames:
    """The games played by rollout processes: one lane each, taken in turn; `pool` carries earlier policies to them."""

    resident = False

    def __init__(
        self,
        drill: CompiledDrill,
        config: TrainConfig,
        block: SharedBlock,
        games: list[int],
        offsets: list[int],
        pool: OpponentSlots | None,
    ):
        self.pool = pool
        spec = drill.spec
        self.lanes, self.units, self.shapes = [], [], []
        for count, offset in zip(games, offsets, strict=True):
            shape = make_rollouts(drill, config, count, 0, 1)
            self.lanes.append(Lane.attach(block, chunk_fields(shape.units, spec), offset))
            self.units.append(shape.trainable)
            self.shapes.append((shape.units, *Samples.sizes(spec)))
        self.turn, self.stale, self.oldest = 0, 0, 0
        self.memory = [0.0] * len(self.lanes)  # MB, as each process said last

    def forget_before(self, version: int) -> None:
        """Throw away, and count, what policies older than this version have played and will yet have played."""
        self.oldest = version

    def set_opponents(self, policies: Sequence[np.ndarray]) -> None:
        """From their next rollout on, the pool's games are played against these earlier policies."""
        if self.pool is not None:
            self.pool.publish(policies)

    def practise(self, scenes: np.ndarray) -> None:
        """Nothing: the workers have been told by the kernel."""

    def mend(self, samples: Samples) -> None:
        """Nothing: each worker mends its own games."""

    def state(self) -> dict[str, np.ndarray]:
        """Nothing: the games live in other processes, and a continuation begins them anew."""
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Nothing to take over."""

    @property
    def memory_mb(self) -> float:
        """Memory of the rollout processes together, at its highest."""
        return sum(self.memory)

    @property
    def dropped(self) -> int:
        return self.stale + sum(lane.dropped for lane in self.lanes)

    def next(self, learner: Player, config: TrainConfig, version: int) -> Experience | None:
        """The next chunk of any lane, or None when nothing has come for a while."""
        for wait in (0.0, 0.0005, 0.0005, 0.001, 0.002, 0.005):
            if wait:
                time.sleep(wait)
            for _ in self.lanes:
                k, self.turn = self.turn, (self.turn + 1) % len(self.lanes)
                chunk = self.lanes[k].peek()
                if chunk is None:
                    continue
                lag = version - chunk.policy_version
                if lag > STALE_VERSIONS or chunk.policy_version < self.oldest:
                    self.stale += 1
                    self.lanes[k].release()
                    continue
                samples = Samples.over(chunk.arrays["samples"], *self.shapes[k])
                self.memory[k] = float(chunk.arrays["memory_mb"][0])
                return Experience(samples, self.units[k], chunk.arrays["stats"].copy(), lag, self.lanes[k].release)
        return None
