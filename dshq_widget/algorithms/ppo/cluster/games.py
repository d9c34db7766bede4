"""The source of samples of a run on a Ray cluster: asks the nodes for rollouts and copies what arrives."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from dshq_kernels.play.rollout import Samples
from dshq_widget.algorithms.ppo.cluster.crew import Crew, Member
from dshq_widget.algorithms.ppo.cluster.player import Chunk, Order
from dshq_widget.algorithms.ppo.ring_games import STALE_ROLLOUTS
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.games import Player
from dshq_widget.learning.parts import Experience, SimpleSource
from dshq_widget.learning.telemetry.report import merge

AHEAD = 2
"""Most rollouts that one node is asked for at once: one travels while the next is played."""
MOST_LAG = 2
"""Versions that samples are behind at most where all nodes are alike: an update learns from one rollout of each, and
each is asked for `AHEAD` at most. benchmarks/ray_lag.py says what more would cost.
"""
WAIT_SECONDS = 0.05
"""Longest wait for a rollout before the run looks at its commands."""
FETCH_SECONDS = 10.0
"""Longest wait for a rollout that Ray says is here."""


class ClusterGames(SimpleSource):
    """The games played by the members of a crew."""

    parts = 1
    resident = False
    dropped = 0

    def __init__(self, ray: Any, drill: CompiledDrill, crew: Crew, config: TrainConfig) -> None:
        self.crew = crew
        self._ray, self._sizes = ray, Samples.sizes(drill.spec, config.memory, config.rollout_length)
        self._oldest = 0
        self._weights: tuple[int, Any] = (-1, None)  # the version that was put last, and its reference
        self._opponents: tuple[int, Any] = (0, None)  # the number of the set, and its reference
        self._scenes: tuple[int, Any] = (0, None)
        self._memory_mb: dict[str, float] = {}  # by node
        self._samples: Samples | None = None
        self._asked: dict[Any, Member] = {}  # who plays which rollout, by its reference, the longest awaited first
        self._turns = 0  # rollouts asked for so far
        self._limit = 1  # rollouts asked for or waiting for the next update: as few as keep the learner busy
        self._taken: list[Chunk] = []  # for the next update
        self._lag: dict[Member, int] = {}  # how far behind the rollout was that came last
        self._slow: set[str] = set()  # nodes that a warning was given of

    @property
    def memory_mb(self) -> float:
        """Peak memory of all players that are there now."""
        return sum(self._memory_mb.get(member.node, 0.0) for member in self.crew.members)

    def next(self, learner: Player, config: TrainConfig, version: int) -> Experience | None:
        """The rollouts for one update, as many as nodes play, or None if they are not all here within a moment. Raises
        RuntimeError if players fail on every node.
        """
        self.crew.look(version)
        count = max(1, len(self.crew.ready))
        self._limit = min(max(self._limit, count), AHEAD * count)
        self._ask(learner, config, version)
        self._adapt(count - len(self._taken))
        self._collect(count, version)
        if len(self._taken) < count:
            return None
        taken, self._taken = self._taken, []
        first = np.cumsum([0, *(chunk.rows for chunk in taken)])
        samples = self._joined(taken, first)
        units = np.concatenate([row + chunk.units for chunk, row in zip(taken, first, strict=False)])
        lag = version - min(chunk.version for chunk in taken)
        return Experience(samples, units, merge([chunk.stats for chunk in taken]), lag, age=lag)

    def _joined(self, chunks: Sequence[Chunk], first: np.ndarray) -> Samples:
        """The samples of rollouts, which begin at the rows `first`. Of a single one only what the learner corrects
        and packed observations are copied: what Ray hands out is read-only, and lies in its store until nobody holds
        it any more.
        """
        if len(chunks) == 1:
            samples = Samples(*chunks[0].samples)
            own = {name: getattr(samples, name).copy() for name in ("log_prob", "advantage")}
            return dataclasses.replace(samples, obs=samples.obs.astype(np.float32, copy=False), **own)
        if self._samples is None or len(self._samples.obs) != first[-1]:
            self._samples = Samples.new(int(first[-1]), *self._sizes)
        for chunk, row in zip(chunks, first, strict=False):
            for field, array in zip(dataclasses.fields(Samples), chunk.samples, strict=True):
                at = row * len(array) // chunk.rows  # memories have one row for each sequence
                getattr(self._samples, field.name)[at : at + len(array)] = array
        return self._samples

    def _ask(self, learner: Player, config: TrainConfig, version: int) -> None:
        """Ask for rollouts with the newest weights, idle members first, then those asked longest ago. One that comes
        late is not asked for two at once.
        """
        self._asked = {call: member for call, member in self._asked.items() if member in self.crew.members}
        busy, hyper = Counter(self._asked.values()), config.to_json()
        free = [
            (depth, member.turn, member)
            for member in self.crew.ready
            for depth in range(busy[member], AHEAD if self._lag.get(member, 0) < MOST_LAG else 1)
        ]
        free.sort(key=lambda place: place[:2])
        for *_, member in free[: max(self._limit - len(self._asked) - len(self._taken), 0)]:
            if self._weights[0] != version:
                self._weights = version, self._ray.put(learner.blob())
            order = Order(version, hyper, self._opponents[0], self._scenes[0])
            references = self._weights[1], self._opponents[1], self._scenes[1]
            self._asked[member.actor.play.remote(order, *references)] = member
            self._turns += 1
            member.turn = self._turns

    def _adapt(self, wanted: int) -> None:
        """Ask for fewer at once if rollouts wait for the learner and grow old, for more if it waits for them."""
        if not self._asked:
            return
        here = len(self._ray.wait(list(self._asked), num_returns=len(self._asked), timeout=0)[0])
        if here > wanted:
            self._limit -= 1
        elif here < wanted:
            self._limit += 1

    def _collect(self, count: int, version: int) -> None:
        """Take what has arrived, the longest awaited first, until there are `count` rollouts; discard what is old."""
        wanted = min(count - len(self._taken), len(self._asked))
        if wanted <= 0:
            time.sleep(0.0 if self._asked else WAIT_SECONDS)
            return
        for call in self._ray.wait(list(self._asked), num_returns=wanted, timeout=WAIT_SECONDS)[0]:
            member = self._asked.pop(call)
            try:
                chunk: Chunk = self._ray.get(call, timeout=FETCH_SECONDS)
            except self._ray.exceptions.RayError as error:
                self.crew.lose(member, error)
                continue
            self.crew.succeeded(member)
            self._memory_mb[member.node] = chunk.memory_mb
            self._lag[member] = version - chunk.version
            late = self._lag[member] > STALE_ROLLOUTS
            if late or chunk.version < self._oldest:
                self.dropped += 1
            else:
                self._taken.append(chunk)
            if late and member.node not in self._slow:
                self._slow.add(member.node)
                self.crew.warn(
                    f"node {member.name} is much slower than the others: a rollout came {self._lag[member]} versions "
                    f"late and is discarded, as are all that come more than {STALE_ROLLOUTS} late; start it with more "
                    "--num-cpus"
                )

    # ---- what the run's other parts ask for

    def set_opponents(self, policies: Sequence[np.ndarray]) -> None:
        """Play the pool's games against these earlier policies from the next rollout on, one blob per slot."""
        self._opponents = self._opponents[0] + 1, self._ray.put(np.stack(policies)) if len(policies) else None

    def practise(self, scenes: np.ndarray) -> None:
        """Start a share of the new games from one of `scenes`, u32 `[n, words]`, from the next rollout on."""
        self._scenes = self._scenes[0] + 1, self._ray.put(np.ascontiguousarray(scenes))

    def forget_before(self, version: int) -> None:
        """Discard and count samples from policies older than this version, including later ones."""
        self._oldest = version
        self.dropped += len(self._taken)
        self._taken = []
