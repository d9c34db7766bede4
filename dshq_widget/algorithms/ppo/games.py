"""Sources of samples: games played by the learner's threads, or by rollout processes through the ring."""

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
from dshq_widget.learning.telemetry.report import merge
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.opponents import Opponents, OpponentSlots, slot_count
from dshq_widget.runtime.ring import Lane
from dshq_widget.runtime.worker import chunk_fields, make_rollouts, tiles_among

STALE_ROLLOUTS = 4
"""Samples are discarded and counted if more rollouts of all games than this were learned from since their policy played
(assumed). Normal are 2 at most; 8 cost more than three times the agent steps (benchmarks/ray_lag.py).
"""


class Player(Protocol):
    """A learner's policy, as the games need it."""

    def blob(self) -> np.ndarray:
        """The policy's flat f32 weights."""
        ...


class OwnGames:
    """The games played in this process, on `threads` threads."""

    resident = False
    """Whether the games are on the learner's device."""
    memory_mb = 0.0

    def __init__(self, drill: CompiledDrill, config: TrainConfig, threads: int):
        self.rollouts: Rollouts = make_rollouts(drill, config, config.num_envs, config.seed, threads)
        self.samples = Samples.new(self.rollouts.units, *self.rollouts.sizes)
        self.units = self.rollouts.trainable
        self.opponents = Opponents(self.rollouts.plan, slot_count(config, drill.spec))
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
        """Play the pool's games against these earlier policies from now on, one blob per slot."""
        self.opponents.set_opponents(policies)

    def practise(self, scenes: np.ndarray) -> None:
        """Start a share of the new games from one of `scenes`, u32 `[n, words]`, from now on."""
        self.rollouts.practise(scenes)

    def forget_before(self, version: int) -> None:
        """Does nothing: every rollout is played with the newest weights."""

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
        self.lanes, self.shapes = [], []
        for count, among, offset in zip(games, tiles_among(games), offsets, strict=True):
            shape = make_rollouts(drill, config, count, 0, 1, among)
            self.lanes.append(Lane.attach(block, chunk_fields(shape.units, spec, config), offset))
            self.shapes.append((shape.units, *shape.sizes))
        self.turn, self.stale, self.oldest = 0, 0, 0
        self.memory = [0.0] * len(self.lanes)  # MB, as each process said last

    def forget_before(self, version: int) -> None:
        """Discard and count samples from policies older than this version, including later ones."""
        self.oldest = version

    def set_opponents(self, policies: Sequence[np.ndarray]) -> None:
        """Play the pool's games against these earlier policies from the next rollout on."""
        if self.pool is not None:
            self.pool.publish(policies)

    def practise(self, scenes: np.ndarray) -> None:
        """Does nothing: the kernel sends scenes to the workers itself."""

    def mend(self, samples: Samples) -> None:
        """Does nothing: each worker restarts its own games."""

    def state(self) -> dict[str, np.ndarray]:
        """Empty: the games are in other processes, and a continuation restarts them."""
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Does nothing: there is no state."""

    @property
    def memory_mb(self) -> float:
        """Peak memory of all rollout processes."""
        return sum(self.memory)

    @property
    def dropped(self) -> int:
        return self.stale + sum(lane.dropped for lane in self.lanes)

    def next(self, learner: Player, config: TrainConfig, version: int) -> Experience | None:
        """The next chunk of any lane, or None if none arrives for a while."""
        for wait in (0.0, 0.0005, 0.0005, 0.001, 0.002, 0.005):
            if wait:
                time.sleep(wait)
            for _ in self.lanes:
                k, self.turn = self.turn, (self.turn + 1) % len(self.lanes)
                chunk = self.lanes[k].peek()
                if chunk is None:
                    continue
                lag = version - chunk.policy_version
                if lag > STALE_ROLLOUTS * len(self.lanes) or chunk.policy_version < self.oldest:
                    self.stale += 1
                    self.lanes[k].release()
                    continue
                samples = Samples.over(chunk.arrays["samples"], *self.shapes[k])
                self.memory[k] = float(chunk.arrays["memory_mb"][0])
                units = np.flatnonzero(chunk.arrays["trainable"])
                return Experience(samples, units, chunk.arrays["stats"].copy(), lag, self.lanes[k].release)
        return None
