"""Games that rollout processes play: samples come through the ring."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from dshq_kernels.play.rollout import Samples
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.games import Player
from dshq_widget.learning.opponents.slots import OpponentSlots
from dshq_widget.learning.parts import Experience, SimpleSource
from dshq_widget.learning.worker import chunk_fields, make_rollouts, tiles_among
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.ring import Lane

STALE_ROLLOUTS = 4
"""Samples are discarded and counted if more rollouts of all games than this were learned from since their policy played
(assumed). Normal are 2 at most; 8 cost more than three times the agent steps (benchmarks/ray_lag.py).
"""


class RingGames(SimpleSource):
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

    @property
    def parts(self) -> int:
        """See `TakesOpponents`."""
        return len(self.lanes)

    def forget_before(self, version: int) -> None:
        """Discard and count samples from policies older than this version, including later ones."""
        self.oldest = version

    def set_opponents(self, policies: Sequence[np.ndarray]) -> None:
        """Play the pool's games against these earlier policies from the next rollout on."""
        if self.pool is not None:
            self.pool.publish(policies)

    def practise(self, scenes: np.ndarray) -> None:
        """Does nothing: the kernel sends scenes to the workers itself."""

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
                stats, age = chunk.arrays["stats"].copy(), lag / len(self.lanes)
                return Experience(samples, units, stats, lag, self.lanes[k].release, age)
        return None
