"""The processes of one training run, a learner and its rollout workers, and the memory between them."""

from __future__ import annotations

import dataclasses
import os
import traceback
from typing import Any

from dshq_kernels.play.rollout import make_groups, share_tiles
from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.algorithm import Job, Message, OneProcess, OnExit, OnMessage, Processes
from dshq_widget.algorithms.ppo import compiling, tuning
from dshq_widget.algorithms.torchrun import Place
from dshq_widget.contract.game_spec import Game
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.contract.torch_needed import need_torch
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.gpu.device import DEVICES, check_device
from dshq_widget.learning.opponents.slots import OpponentSlots, opponent_shares, slot_count
from dshq_widget.learning.worker import CAPACITY, chunk_fields, tiles_among
from dshq_widget.policy import convolutions
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.machine import Machine
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.ring import Lane
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.runtime.supervisor import Child, Exit, Restart, supervisor
from dshq_widget.runtime.words import reason_of

LEARNER, WORKER = "dshq_widget.algorithms.ppo.drill_run:run", "dshq_widget.learning.worker:run"
OWN_LEARNER = "dshq_widget.algorithms.ppo.own.run:run"
GYM_LEARNER = "dshq_widget.algorithms.ppo.gym_run:run"
JOINT_LEARNER = "dshq_widget.algorithms.ppo.joint.run:run"
COMPILER = "dshq_widget.algorithms.ppo.compiling:run"
COMPILE_SECONDS = 600.0
"""The compiler holds the interpreter's lock for long."""
GYM_STUCK_SECONDS = 60.0
"""Long, because an environment may be slow to start and slow to step."""
LINE = 64  # bytes; lanes begin on a cache line


@dataclasses.dataclass(frozen=True)
class Shares:
    """How many games each process plays, and the learner's threads."""

    games: tuple[int, ...]
    """Games of each rollout worker, in whole tiles; empty where the learner plays them itself."""
    threads: int
    """Threads of the learner."""


def share_out(
    config: TrainConfig, cpu: float, memory: float, rates: tuning.Rates | None = None, gentle: bool = False
) -> Shares:
    """Split the games over the allocation that is chosen for `cpu` processors and `memory` bytes."""
    allocation = tuning.choose(config, Machine(cpu, memory, gentle), rates)
    tiles = config.num_envs // LANES
    workers = min(allocation.workers, tiles)
    shares = [tiles // workers + (k < tiles % workers) for k in range(workers)]
    return Shares(tuple(LANES * share for share in shares), allocation.threads)


class DrillProcesses:
    """Starts the processes when created. Raises MemoryError, or whatever keeps a process from being started; then none
    is left.

    `on_message(processes, message)` and `on_exit(processes, exit)` report on the learner, on the supervisor's thread. A
    worker that dies is replaced and reported as a WARNING; when none is left, the learner's exit says why.
    """

    replaceable = True

    def __init__(
        self,
        drill: CompiledDrill,
        config: TrainConfig,
        weights: SharedBlock,
        job: Job,
        on_message: OnMessage,
        on_exit: OnExit,
    ) -> None:
        self._drill, self._config, self._weights, self._job = drill, config, weights, job
        self._on_message, self._on_exit = on_message, on_exit
        self._lost: Exit | None = None
        self._stop_seconds: float | None = None
        self._early: list[Message] | None = []  # commands sent to the learner before it began to train
        self._start()

    def _start(self) -> None:
        """Start the processes of the best allocation by the measured rates; without rates, the learner alone measures
        them first.
        """
        self.workers: list[Child] = []
        self._ring: SharedBlock | None = None
        self._pool: SharedBlock | None = None
        try:
            self._start_all()
        except BaseException:
            for worker in self.workers:
                worker.stop()
            if not self.workers:  # else they hold the blocks until they have ended
                self._close_blocks()
            self._ring = self._pool = None
            raise

    def _start_all(self) -> None:
        drill, config, weights, job = self._drill, self._config, self._weights, self._job
        self._another_allocation = False
        machine = Machine.this(bool(job.get("gentle")))
        rates = tuning.recall(drill.spec, config, machine) if tuning.open_choice(config, machine) else None
        shares = share_out(config, machine.cpu, machine.memory, rates, machine.gentle)
        self._ring, offsets = _ring(drill, config, shares.games)
        self._pool = _pool(drill, config) if self._ring else None
        shared = {"weights": weights, "ring": self._ring, "pool": self._pool}
        blocks = {name: block for name, block in shared.items() if block is not None}
        start = supervisor(os.getpid()).start
        common: dict[str, Any] = {"drill": drill.to_json() | {"javascript": ""}, "hyper": config.to_json()}
        common |= {"gentle": bool(job.get("gentle")), "scenes": list(job.get("scenes", []))}
        common |= {"machine": dataclasses.asdict(machine), "version": WeightSlots.attach(weights).latest}
        self._for_workers = {key: common[key] for key in ("hyper", "scenes")}
        places = zip(shares.games, offsets, tiles_among(shares.games), strict=True)
        for index, (games, offset, (first, tiles)) in enumerate(places):
            own = {"index": index, "games": games, "lane_offset": offset, "first_tile": first, "all_tiles": tiles}
            given = ({**common, **own}, blocks, self._worker_message, self._worker_exit)
            self.workers.append(start(WORKER, *given, restart=Restart()))
        allocation: dict[str, Any] = {"workers": len(shares.games), "threads": shares.threads}
        allocation |= {"games": shares.games, "lane_offsets": offsets}
        self.learner: Child = start(
            LEARNER, {**common, **allocation, **job}, blocks, self._learner_message, self._learner_exit, shares.threads
        )

    def send(self, message: Message) -> None:
        """Send a command to the learner; settings and scenes also go to the workers and their replacements."""
        if self._early is not None:
            self._early.append(message)
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
        self._stop_seconds = seconds
        for child in [self.learner, *self.workers]:
            child.stop(seconds)

    def _learner_message(self, _child: Child, message: Message) -> None:
        if message["type"] == "ANOTHER_ALLOCATION":
            self._another_allocation = True
            return
        if message["type"] == "PHASE" and message["phase"] == "training":
            self._early = None
        self._on_message(self, message)

    def _learner_exit(self, _child: Child, end: Exit) -> None:
        for worker in self.workers:
            worker.stop()
        self._close_blocks()
        if self._another_allocation and end.expected and self._stop_seconds is None:
            self._restart()
        else:
            self._on_exit(self, self._lost or end)

    def _close_blocks(self) -> None:
        for block in (self._ring, self._pool):
            if block is not None:
                block.close()

    def _restart(self) -> None:
        """The learner found a faster allocation: start its processes and send them the same commands. If that fails,
        the run has ended.
        """
        try:
            self._start()
        except Exception as error:
            text = f"training cannot continue with rollout processes: {reason_of(error)}"
            self._on_exit(self, Exit(None, False, False, text, traceback.format_exc(), ""))
            return
        early, self._early = self._early or [], []
        for message in early:
            self.send(message)
        if self._stop_seconds is not None:  # a stop was requested in the meantime
            self.stop(self._stop_seconds)

    def _worker_message(self, child: Child, message: Message) -> None:
        if message["type"] == "HEALTH" and message["health"] in ("stuck", "silent"):
            text = f"rollout process {child.pid} is not responding; the others continue"
            self._on_message(self, {"type": "WARNING", "text": text})

    def _worker_exit(self, child: Child, end: Exit) -> None:
        if end.expected:
            return
        fate = "it is being replaced" if end.restarting else "it will not be replaced again"
        text = f"a rollout process ended; {fate}: {end.error}"
        self._on_message(self, {"type": "WARNING", "text": text})
        if not end.restarting and not any(worker.alive for worker in self.workers if worker is not child):
            self._lost = end  # no worker is left
            self.learner.stop()


def _pool(drill: CompiledDrill, config: TrainConfig) -> SharedBlock | None:
    """Memory for the policies that rollout processes play against; None without any."""
    count = slot_count(config, drill.spec)
    return OpponentSlots.create(PolicySpec.for_config(drill.spec, config).floats, count)[0] if count else None


def _ring(drill: CompiledDrill, config: TrainConfig, games: tuple[int, ...]) -> tuple[SharedBlock | None, list[int]]:
    """Memory with one lane per worker, and the offset of each lane."""
    if not games:
        return None, []
    spec = drill.spec
    fields = []
    for count, (first, tiles) in zip(games, tiles_among(games), strict=True):
        kinds = share_tiles(tiles, opponent_shares(config, spec))[first : first + count // LANES]
        groups = make_groups(kinds, spec.sides)
        units = len(groups) * config.rollout_length * 2
        fields.append(chunk_fields(units, spec, config))
    offsets, end = [], 0
    for field in fields:
        offsets.append(end)
        end += -(-Lane.nbytes_for(field, CAPACITY) // LINE) * LINE
    block = SharedBlock.create(end)
    for field, offset in zip(fields, offsets, strict=True):
        Lane.create(block, field, CAPACITY, offset)
    return block, offsets


_compilers: dict[int, Child] = {}
"""Process -> what it started last to compile; a fork has another number."""


def prepare_processes(drill: Game, config: TrainConfig) -> None:
    """Compile the learner in the background, unless that has been done on this machine, or is being done for another
    drill of this process.
    """
    if not isinstance(drill, CompiledDrill) or config.device in DEVICES or compiling.is_compiled():
        return
    pid = os.getpid()
    if pid not in _compilers or not _compilers[pid].alive:
        job = compiling.job_of(drill, config)
        _compilers[pid] = supervisor(pid).start(COMPILER, job, stuck_seconds=COMPILE_SECONDS)


def start_processes(
    drill: Game, config: TrainConfig, weights: SharedBlock, job: Job, on_message: OnMessage, on_exit: OnExit
) -> Processes:
    """A learner with rollout workers for a drill; for an environment one learner, which steps it itself. Raises
    RuntimeError with one sentence for a device or a package that is missing.
    """
    if not config.deterministic:
        check_device(config.device)
    if config.joint:
        return _joint(drill, config, weights, job, on_message, on_exit)
    if isinstance(drill, CompiledDrill) and job.get("network"):
        need_torch("a network of your own")
        threads = 1 if config.deterministic else Machine.this(bool(job.get("gentle"))).size
        given = drill.to_json() | {"javascript": ""}, config, weights, job, on_message, on_exit, threads
        return OneProcess(OWN_LEARNER, *given, stuck_seconds=GYM_STUCK_SECONDS)
    if isinstance(drill, CompiledDrill):
        return DrillProcesses(drill, config, weights, job, on_message, on_exit)
    need_torch(f"training on {drill.name}")
    machine = Machine.this(bool(job.get("gentle")))
    processors = 1 if config.deterministic else machine.size
    large = any(not convolutions.is_small(pixels) for pixels in drill.spec.pictures_read)
    threads = processors if large else 1  # more threads slow a small network down
    job = {"processors": processors, **job}
    stuck = {"stuck_seconds": GYM_STUCK_SECONDS}
    return OneProcess(GYM_LEARNER, drill.to_json(), config, weights, job, on_message, on_exit, threads, **stuck)


def _joint(drill: Game, *given: Any) -> Processes:
    """The learner of rank 0; torchrun has started the others. Raises RuntimeError."""
    need_torch("joint learning")
    config = given[0]
    if not isinstance(drill, CompiledDrill) or config.memory:
        what = "networks with a memory" if config.memory else "environments of Gymnasium"
        raise RuntimeError(f"joint learning is for drills without a memory, not for {what}: leave out joint")
    Place.of()
    started = OneProcess(JOINT_LEARNER, drill.to_json() | {"javascript": ""}, *given, stuck_seconds=COMPILE_SECONDS)
    started.replaceable = False  # the others would wait for the one that is gone
    return started
