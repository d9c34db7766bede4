"""The processes of one training run, a learner and its rollout workers, and the memory between them."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

from dshq_kernels.rollout import make_groups, share_tiles
from dshq_widget.config import TILE_LANES, TrainConfig
from dshq_widget.drill import CompiledDrill
from dshq_widget.policy import PolicySpec
from dshq_widget.runtime import budget
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.opponents import OpponentSlots, opponent_shares, slot_count
from dshq_widget.runtime.ring import Lane
from dshq_widget.runtime.supervisor import Child, Exit, Restart, Supervisor
from dshq_widget.runtime.worker import CAPACITY, chunk_fields

LEARNER, WORKER = "dshq_widget.training.loop:run", "dshq_widget.runtime.worker:run"
LINE = 64  # bytes; lanes begin on a cache line

Message = Mapping[str, Any]


@functools.cache
def _supervisor(pid: int) -> Supervisor:
    """The one supervisor of this process; a forked copy, which has another `pid`, gets its own."""
    return Supervisor()


@dataclasses.dataclass(frozen=True)
class Shares:
    """Who plays how many games, on how many threads."""

    games: tuple[int, ...]
    """Games of each rollout worker, in whole tiles; empty where the learner plays them itself."""
    threads: int
    """Threads of the learner."""


def share_out(config: TrainConfig, cpu: float, memory: float) -> Shares:
    """Split the games over the workers that `config` asks for, or that `cpu` processors and `memory` bytes allow.

    Lock-step has one thread, since sums on several differ in the last bits with their number.
    """
    if config.deterministic:
        return Shares((), 1)
    plan = budget.plan(cpu, memory)
    workers, threads = plan.workers, plan.threads
    if config.workers >= 0:
        workers, threads = config.workers, max(1, min(int(cpu) - config.workers, budget.MOST_THREADS))
    tiles = config.num_envs // TILE_LANES
    workers = min(workers, tiles)
    shares = [tiles // workers + (k < tiles % workers) for k in range(workers)]
    return Shares(tuple(TILE_LANES * share for share in shares), threads)


class Crew:
    """Started when made. Raises MemoryError.

    `on_message(crew, message)` and `on_exit(crew, exit)` speak of the learner and come on the supervisor's thread. A
    worker that is lost is replaced and reported as a WARNING; when none is left, the learner's exit says why.
    """

    def __init__(
        self,
        drill: CompiledDrill,
        config: TrainConfig,
        weights: SharedBlock,
        job: Mapping[str, Any],
        on_message: Callable[[Crew, Message], None],
        on_exit: Callable[[Crew, Exit], None],
    ) -> None:
        shares = share_out(config, budget.cpu_budget(), budget.memory_limit())
        if job.get("gentle") and shares.threads > 1:
            # One processor is the page's: threads that wait for one another while it draws learn less than one thread
            # that need not (measured: docs/LOG.md).
            shares = dataclasses.replace(shares, threads=shares.threads - 1)
        self._on_message, self._on_exit = on_message, on_exit
        self._lost: Exit | None = None
        self._ring, offsets = _ring(drill, config, shares.games)
        self._pool = _pool(drill, config) if self._ring else None
        shared = {"weights": weights, "ring": self._ring, "pool": self._pool}
        blocks = {name: block for name, block in shared.items() if block is not None}
        start = _supervisor(os.getpid()).start
        common: dict[str, Any] = {"drill": {"spec": drill.spec, "python": drill.python}, "hyper": config.to_json()}
        common |= {"gentle": bool(job.get("gentle")), "scenes": list(job.get("scenes", []))}
        self._for_workers = {key: common[key] for key in ("hyper", "scenes")}
        self.workers: list[Child] = [
            start(
                WORKER,
                {**common, "index": index, "games": games, "lane_offset": offset},
                blocks,
                self._worker_message,
                self._worker_exit,
                restart=Restart(),
            )
            for index, (games, offset) in enumerate(zip(shares.games, offsets, strict=True))
        ]
        team = {"workers": len(shares.games), "threads": shares.threads, "games": shares.games, "lane_offsets": offsets}
        self.learner: Child = start(
            LEARNER, {**common, **team, **job}, blocks, self._learner_message, self._learner_exit, shares.threads
        )

    def send(self, message: Message) -> None:
        """A command for the learner; settings and scenes go to the workers, too, and to those that replace them."""
        if message["type"] == "SCENES":
            self._for_workers["scenes"] = message["scenes"]
        elif message["type"] == "SET_HYPER":
            self._for_workers["hyper"] = {**self._for_workers["hyper"], message["key"]: message["value"]}
        shared = message["type"] in ("SET_HYPER", "SCENES")
        for child in self.workers if shared else []:
            child.amend(self._for_workers)
        for child in [self.learner, *(self.workers if shared else [])]:
            child.send(dict(message))

    def stop(self, seconds: float) -> None:
        """Ask all to end, by force after `seconds`. Returns at once."""
        for child in [self.learner, *self.workers]:
            child.stop(seconds)

    def _learner_message(self, _child: Child, message: Message) -> None:
        self._on_message(self, message)

    def _learner_exit(self, _child: Child, end: Exit) -> None:
        for worker in self.workers:
            worker.stop()
        for block in (self._ring, self._pool):
            if block is not None:
                block.close()
        self._on_exit(self, self._lost or end)

    def _worker_message(self, child: Child, message: Message) -> None:
        if message["type"] == "HEALTH" and message["health"] in ("stuck", "silent"):
            text = f"rollout process {child.pid} has not answered for some seconds; the others go on"
            self._on_message(self, {"type": "WARNING", "text": text})

    def _worker_exit(self, child: Child, end: Exit) -> None:
        if end.expected:
            return
        fate = "it is being replaced" if end.restarting else "it is not replaced any more"
        text = f"a rollout process was lost, {fate}: {end.error}"
        self._on_message(self, {"type": "WARNING", "text": text})
        if not end.restarting and not any(worker.alive for worker in self.workers if worker is not child):
            self._lost = end  # nobody plays any more
            self.learner.stop()


def _pool(drill: CompiledDrill, config: TrainConfig) -> SharedBlock | None:
    """Memory for the earlier policies that rollout processes play against; None where there is no pool."""
    count = slot_count(config)
    return OpponentSlots.create(PolicySpec.for_config(drill.spec, config).floats, count)[0] if count else None


def _ring(drill: CompiledDrill, config: TrainConfig, games: tuple[int, ...]) -> tuple[SharedBlock | None, list[int]]:
    """Memory with one lane for each worker, and where each lane begins."""
    if not games:
        return None, []
    spec = drill.spec
    fields = []
    for count in games:
        kinds = share_tiles(count // TILE_LANES, opponent_shares(config, spec))
        groups = make_groups(kinds, int(spec["sides"]))
        units = len(groups) * config.rollout_length * 2
        fields.append(chunk_fields(units, spec))
    offsets, end = [], 0
    for field in fields:
        offsets.append(end)
        end += -(-Lane.nbytes_for(field, CAPACITY) // LINE) * LINE
    block = SharedBlock.create(end)
    for field, offset in zip(fields, offsets, strict=True):
        Lane.create(block, field, CAPACITY, offset)
    return block, offsets
