"""Chooses processes and threads from the available processors and memory and, if there is a choice, from rates that the
first learner on a machine measures once (`Rates`, kept on disk).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import llvmlite.binding as llvm

from dshq_kernels.simd.folders import cache_dir
from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.ppo.learners.learner import Hyper, Learner
from dshq_widget.contract import settings
from dshq_widget.contract.game_spec import GameSpec
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.contract.version import __version__
from dshq_widget.files import atomic
from dshq_widget.learning.fitting import FREE
from dshq_widget.learning.games import OwnGames
from dshq_widget.runtime import budget
from dshq_widget.runtime.machine import Machine

PROBE_SECONDS = 0.15
"""Time to measure each number of threads, after one warm-up round."""
MOST_BUSY = 0.1
"""If threads wait for a processor longer than this share of the time, the machine is busy (assumed) and the measurement
is discarded.
"""
ADVANTAGE = 1.4
"""Rollout processes must be faster by this factor, because their samples are a version old, and more of them are needed
for the same skill (measured: Ball 1.0, Approach 1.2, Sumo 1.4 times, medians of three seeds; CartPole the third
evaluation instead of the second; benchmarks/rollout_lag.py).
"""
WHEN = (
    "One process that plays and learns is faster unless rollout processes make "
    f"{ADVANTAGE:g} times its agent steps/s, as they may where a game takes longer than learning from it; the first "
    "training on a machine measures that, and workers=N asks for them."
)
"""When rollout processes help, in a sentence."""
CORRECTION = 0.4
"""Time to correct old samples, as a share of one epoch's (measured: 7.8 of 19 ms for 65,536 agent steps)."""


@dataclasses.dataclass(frozen=True)
class Rates:
    """Rates of one learner process alone, in agent steps/s: playing, and learning with all epochs."""

    threads: int
    """Number of threads of the rates `play_all` and `learn_all`."""
    play_one: float
    play_all: float
    learn_one: float
    learn_all: float
    busy: float = 0.0
    """Share of that time in which a thread had to wait for a processor."""

    @property
    def trusted(self) -> bool:
        """Whether the machine was idle enough for the rates to be valid."""
        return self.busy <= MOST_BUSY

    def play(self, threads: int) -> float:
        """Seconds per agent step of play on `threads` threads."""
        return _seconds(self.play_one, self.play_all, self.threads, threads)

    def learn(self, threads: int) -> float:
        """Seconds per agent step of learning on `threads` threads."""
        return _seconds(self.learn_one, self.learn_all, self.threads, threads)


@dataclasses.dataclass(frozen=True)
class Allocation:
    """Processes and threads, and the expected agent steps/s (0: unknown)."""

    workers: int
    """Rollout processes; 0: the learner plays the games itself."""
    threads: int
    """Of the learner."""
    rate: float = 0.0


# ---- processes and threads


def allocations(rates: Rates, machine: Machine, epochs: int) -> Iterator[Allocation]:
    """All possible allocations with their expected speed: first the learner alone, which plays and learns in turn, then
    with rollout processes of one thread each, where the slower side limits the speed. The learner corrects their
    samples, which takes longer the fewer `epochs` it makes.
    """
    corrected = 1 + CORRECTION / epochs
    alone = min(machine.size, budget.MOST_THREADS)
    yield Allocation(0, alone, 1 / (rates.play(alone) + rates.learn(alone)))
    for workers in range(1, min(machine.size - 1, budget.most_workers(machine.memory)) + 1):
        threads = min(machine.size - workers, budget.MOST_THREADS)
        yield Allocation(workers, threads, min(workers / rates.play(1), 1 / (corrected * rates.learn(threads))))


def open_choice(config: TrainConfig, machine: Machine) -> bool:
    """Whether there is a choice: several processors, and neither `workers` nor a GPU nor lock-step is set."""
    asked = config.deterministic or config.workers >= 0 or config.device in settings.DEVICES
    return not asked and machine.size > 1


def choose(config: TrainConfig, machine: Machine, rates: Rates | None) -> Allocation:
    """Choose an allocation. Without rates the learner runs alone and can measure them undisturbed.

    Lock-step uses one thread, because the last bits of sums depend on the number of threads.
    """
    if config.deterministic:
        return Allocation(0, 1)
    if config.workers >= 0:
        workers = min(config.workers, config.num_envs // LANES)
        size = machine.size if workers == 0 else max(1, int(machine.cpu) - workers)
        return Allocation(workers, min(size, budget.MOST_THREADS))
    if rates is None or not rates.trusted or not open_choice(config, machine):
        return Allocation(0, min(machine.size, budget.MOST_THREADS))
    alone, *others = allocations(rates, machine, config.epochs)
    best = max(others, key=lambda allocation: allocation.rate, default=alone)
    return best if best.rate >= ADVANTAGE * alone.rate else alone


# ---- rates


def measure(
    games: Callable[[int], OwnGames], learner: Callable[[int], Learner], config: TrainConfig, threads: int
) -> Rates:
    """Measure playing and learning on one thread and on all, at a learning rate of 0; takes well below a second."""
    hyper = dataclasses.replace(Hyper.at(config, 0), learning_rate=0.0)
    found = []
    before = budget.processor_seconds()
    for count in (1, threads):
        own, pupil = games(count), learner(count)
        batch = own.next(pupil, config, 0)
        pupil.update(batch.samples, batch.units, hyper)
        end = time.perf_counter() + PROBE_SECONDS
        play = learn = math.inf
        while time.perf_counter() < end or play == math.inf:
            begin = time.perf_counter()
            batch = own.next(pupil, config, 0)
            played = time.perf_counter()
            pupil.update(batch.samples, batch.units, hyper)
            play, learn = min(play, played - begin), min(learn, time.perf_counter() - played)
        steps = len(batch.units) * LANES
        found.append((steps / play, steps / learn))
    (play_one, learn_one), (play_all, learn_all) = found
    ran, waited = (after - then for after, then in zip(budget.processor_seconds(), before, strict=True))
    return Rates(threads, play_one, play_all, learn_one, learn_all, waited / max(ran + waited, 1e-9))


def _seconds(one: float, several: float, count: int, threads: int) -> float:
    """Seconds per step on `threads` threads, from the rates on one and on `count`: a serial part and a parallel part
    (G. M. Amdahl, "Validity of the single processor approach", AFIPS 1967).
    """
    if count == 1:
        return 1 / one
    shared = (1 / one - 1 / several) / (1 - 1 / count)
    shared = min(max(shared, 0.0), 1 / one)
    return 1 / one - shared + shared / threads


# ---- on disk


def recall(drill: GameSpec, config: TrainConfig, machine: Machine) -> Rates | None:
    """The rates that an earlier learner measured under the same conditions, if there are any."""
    try:
        return Rates(**json.loads(_path(drill, config, machine).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):  # Never measured, or an incomplete file: measure again.
        return None


def remember(rates: Rates, drill: GameSpec, config: TrainConfig, machine: Machine) -> None:
    """Save valid rates for the next start; raises OSError if the cache cannot be written."""
    if not rates.trusted:
        return
    path = _path(drill, config, machine)
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write(path, json.dumps(dataclasses.asdict(rates)).encode())


def _path(drill: GameSpec, config: TrainConfig, machine: Machine) -> Any:
    sizes = (*FREE, "epochs", "hidden_sizes", "activation", "separate_value_net", "opponents", "device")
    conditions = [__version__, llvm.get_host_cpu_name(), os.cpu_count(), machine.cpu, machine.size]
    conditions += [drill.rules_hash, *(config.to_json()[key] for key in sizes)]
    digest = hashlib.sha256(json.dumps(conditions, sort_keys=True).encode()).hexdigest()[:16]
    return cache_dir() / "tuning" / f"{digest}.json"


# ---- in words


def report(config: TrainConfig, machine: Machine, rates: Rates | None, allocation: Allocation) -> dict[str, Any]:
    """The choice and its reason, as plain values: `Trainer.tuning`."""
    return {
        "processors": machine.cpu,
        "memory_gb": round(machine.memory / 1e9, 2),
        "workers": allocation.workers,
        "threads": allocation.threads,
        **{key: getattr(config, key) for key in FREE},
        "rates": None if rates is None else dataclasses.asdict(rates),
        "why": why(config, machine, rates, allocation),
    }


def why(config: TrainConfig, machine: Machine, rates: Rates | None, allocation: Allocation) -> str:
    """The reason for this allocation, as part of a sentence."""
    if config.deterministic:
        return "lock-step uses one thread"
    if config.workers >= 0:
        return f"workers={config.workers} was set"
    if not open_choice(config, machine):
        return f"{machine.cpu:g} processors{', one left for the page' * machine.gentle}"
    if rates is None:
        return "not measured yet"
    if not rates.trusted:
        return f"not measured: this machine is busy, threads waited {rates.busy:.0%} of the time"
    alone, *others = allocations(rates, machine, config.epochs)
    if not others:
        return f"{machine.memory / 1e9:.1f} GB of memory is not enough for rollout processes"
    best = max(others, key=lambda other: other.rate)
    if allocation.workers:
        return f"measured: {best.rate / alone.rate:.2g} times as fast as {alone.threads} threads alone"
    change = best.rate / alone.rate - 1
    if change <= 0:
        return f"measured: rollout processes would be {-change:.0%} slower"
    return f"measured: rollout processes would be {change:.0%} faster, but need up to {ADVANTAGE - 1:.0%} more steps"
