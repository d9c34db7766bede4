"""The learner process: play, learn, publish, report, over and over. Role `dshq_widget.training.loop:run`.

With rollout processes the samples come out of the ring and are learned from in place; without, this process plays the games itself, on as many
threads as it learns with. Everything it says and hears is in protocol.py (`learner_to_kernel`, `kernel_to_learner`).
"""

from __future__ import annotations

import math
import os
import resource
import shutil
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from dshq_kernels import mlp
from dshq_kernels.rollout import STATS, Rollouts, Samples

from dshq_widget import policy
from dshq_widget.config import TrainConfig
from dshq_widget.drill import CompiledDrill
from dshq_widget.learners import Hyper, Learner, learners
from dshq_widget.policy import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.process import Channel
from dshq_widget.runtime.ring import Lane
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.runtime.worker import chunk_fields, make_rollouts
from dshq_widget.training import checkpoint
from dshq_widget.training.evaluate import evaluate, network, opponent

REPORT_SECONDS = 0.5
EVALUATE_SECONDS = 1.5
EVALUATION_MATCHES = 128
EMA = 0.5
"""Weight of the newest evaluation in the smoothed win rate (assumed; 128 matches each)."""
AUTOSAVE_SECONDS = 300.0
STALE_VERSIONS = 64
"""Samples made by a policy older than this many versions are thrown away and counted (assumed; normal is 1 or 2)."""
ROLLBACK_RATE = 0.5
"""What a rollback multiplies the learning rate with."""


@dataclass
class Batch:
    """One rollout's samples, ready to learn from."""

    samples: Samples
    units: np.ndarray
    stats: np.ndarray
    lag: int
    done: Callable[[], None]


@dataclass
class Tally:
    """What has been summed up since the last report."""

    stats: np.ndarray
    learned: list[dict[str, float]] = field(default_factory=list)
    rollout_ms: float = 0.0
    update_ms: float = 0.0
    lag: int = 0
    updates: int = 0
    seconds: float = 0.0


class OwnGames:
    """The games played in this process, on `threads` threads."""

    def __init__(self, drill: CompiledDrill, config: TrainConfig, threads: int, pool: ThreadPoolExecutor):
        self.rollouts: Rollouts = make_rollouts(drill, config, config.num_envs, config.seed, threads)
        self.samples = Samples.new(self.rollouts.units, drill.spec["n_obs"])
        self.units = self.rollouts.trainable
        self.drill, self.pool, self.threads = drill, pool, threads
        self.dropped = 0

    def next(self, learner: Learner, config: TrainConfig, version: int) -> Batch:
        """Play one rollout with the learner's own weights."""
        rollouts = self.rollouts
        rollouts.weights[:] = self.drill.term_weights(config.reward_weights)
        params = mlp.pack(rollouts.plan, learner.blob())
        stats = [rollouts.new_stats() for _ in range(self.threads)]

        def play(part: int) -> None:
            rollouts.play(params, self.samples, stats[part], gamma=config.gamma, gae_lambda=config.gae_lambda, part=part)

        others = [self.pool.submit(play, part) for part in range(1, self.threads)]
        play(0)
        for other in others:
            other.result()
        rollouts.advance()
        return Batch(self.samples, self.units, _merge(stats), 0, lambda: None)


class RingGames:
    """The games played by rollout processes: one lane each, taken in turn."""

    def __init__(self, drill: CompiledDrill, config: TrainConfig, block: SharedBlock, games: list[int], offsets: list[int]):
        spec = drill.spec
        self.lanes, self.units, self.shapes = [], [], []
        for count, offset in zip(games, offsets, strict=True):
            shape = make_rollouts(drill, config, count, 0, 1)
            self.lanes.append(Lane.attach(block, chunk_fields(shape.units, spec["n_obs"], len(spec["terms"])), offset))
            self.units.append(shape.trainable)
            self.shapes.append((shape.units, spec["n_obs"]))
        self.turn, self.stale = 0, 0

    @property
    def dropped(self) -> int:
        return self.stale + sum(lane.dropped for lane in self.lanes)

    def next(self, learner: Learner, config: TrainConfig, version: int) -> Batch | None:
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
                if lag > STALE_VERSIONS:
                    self.stale += 1
                    self.lanes[k].release()
                    continue
                samples = Samples.over(chunk.arrays["samples"], *self.shapes[k])
                return Batch(samples, self.units[k], chunk.arrays["stats"].copy(), lag, self.lanes[k].release)
        return None


def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Train until told to stop."""
    config = TrainConfig.from_values(job["hyper"])
    drill = CompiledDrill.from_json(job["drill"])
    channel.send({"type": "PHASE", "phase": "starting", "text": f"compiling the rules of {drill.spec['title']}"})
    drill.game()
    threads = int(job.get("threads") or os.environ.get("OMP_NUM_THREADS", 1))
    workers = int(job.get("workers", 0))
    spec = PolicySpec.for_drill(drill.spec, config.hidden_sizes, config.activation)
    device = _device(config.device)
    channel.send({"type": "PHASE", "phase": "starting", "text": f"preparing the learner on {'the GPU' if device == 'cuda' else 'the CPU'}"})
    options: dict[str, Any] = {"seed": config.seed, "threads": threads}
    learner = learners["torch"](spec, device=device, **options) if device == "cuda" else learners["fused"](spec, **options)
    slots = WeightSlots.attach(blocks["weights"], spec.floats)
    steps, spent = _resume(learner, slots, job, config, channel)
    version = slots.latest
    pool = ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="dshq-play")
    games: OwnGames | RingGames
    if workers:
        games = RingGames(drill, config, blocks["ring"], job["games"], job["lane_offsets"])
        if not version:
            slots.publish(1, steps, learner.blob())
            version = 1
    else:
        games = OwnGames(drill, config, threads, pool)
    channel.send({"type": "PHASE", "phase": "starting", "text": "compiling the learner (once on a machine)"})
    tally = Tally(_no_stats(len(drill.spec["terms"])))
    judge = Judge(drill, spec, config.seed)
    metrics: dict[str, float] = {}
    updates, rate, started = int(job.get("updates", 0)), 1.0, False
    last_report = last_evaluation = last_save = time.monotonic()
    while not channel.closed:
        for command in channel.poll():
            if command["type"] == "SET_HYPER":
                config = config.replace({command["key"]: command["value"]})
            elif command["type"] == "SAVE":
                _save(command["path"], drill, spec, learner, version, steps, config, metrics, channel)
        begin = time.monotonic()
        batch = games.next(learner, config, version)
        if batch is None:
            continue
        played = time.monotonic()
        hyper = Hyper.at(config, steps)
        hyper = _scaled(hyper, rate)
        learned = learner.update(batch.samples, batch.units, hyper)
        batch.done()
        steps += len(batch.units) * 16
        updates += 1
        ended = time.monotonic()
        try:
            slots.publish(version + 1, steps, learner.blob())
            version += 1
        except ValueError as error:
            rate *= ROLLBACK_RATE
            _roll_back(learner, slots, spec, config)
            channel.send({"type": "WARNING", "text": f"{error}. Training went back to version {version} and goes on with {rate:.3g} of the learning rate"})
        if not started:  # the first round compiles: the clock starts behind it
            started = True
            text = f"training on {'the GPU' if device == 'cuda' else f'{threads} thread' + 's' * (threads > 1)}"
            text += f" with {job['workers']} rollout processes" if workers else ""
            channel.send({"type": "PHASE", "phase": "training", "text": text, "device": device, "workers": workers, "threads": threads})
            last_report = last_evaluation = last_save = time.monotonic()
            continue
        _add(tally, batch, learned, played - begin, ended - played, ended - begin)
        spent += ended - begin
        if config.pace > 0:
            _hold(channel, len(batch.units) * 16 / config.pace - (ended - begin))
        now = time.monotonic()
        if now - last_evaluation >= EVALUATE_SECONDS:
            judge.play(learner.blob())
            last_evaluation = time.monotonic()
        if now - last_report >= REPORT_SECONDS:
            metrics = _report(tally, hyper, drill, steps, updates, version, spent, now - last_report, games.dropped) | judge.metrics
            channel.send({"type": "METRICS", "values": metrics})
            tally, last_report = Tally(_no_stats(len(drill.spec["terms"]))), now
        if now - last_save >= AUTOSAVE_SECONDS and job.get("autosave"):
            _save(job["autosave"], drill, spec, learner, version, steps, config, metrics, channel)
            last_save = now
    if tally.updates:
        metrics = _report(tally, Hyper.at(config, steps), drill, steps, updates, version, spent, time.monotonic() - last_report, games.dropped) | judge.metrics
        channel.send({"type": "METRICS", "values": metrics})
    for command in channel.poll():
        if command["type"] == "SAVE":
            _save(command["path"], drill, spec, learner, version, steps, config, metrics, channel)
    channel.send({"type": "STOPPED"})


class Judge:
    """The running evaluator: a few matches now and then against the first baseline and against random play, smoothed."""

    def __init__(self, drill: CompiledDrill, spec: PolicySpec, seed: int):
        self.drill, self.spec, self.seed = drill, spec, seed
        self.names = [*drill.spec["baselines"][:1], "random"] if drill.spec["sides"] == 2 else []
        self.metrics: dict[str, float] = {}
        self.episodes = 0

    def play(self, weights: np.ndarray) -> None:
        """One round against each."""
        begin = time.monotonic()
        for k, name in enumerate(self.names):
            player = network(self.spec.layers, self.spec.activation, weights)
            result = evaluate(self.drill, player, opponent(name, self.drill), EVALUATION_MATCHES, seed=self.seed + self.episodes, name=name)
            scripted = k == 0 and len(self.names) > 1
            self._smooth("win_rate_ema" if scripted else "win_rate_random", result["win_rate"])
            self._smooth("win_share" if scripted else "win_share_random", result["win_share"])
            self.episodes += EVALUATION_MATCHES
        self.metrics |= {"episodes": self.episodes, "duration_ms": 1000 * (time.monotonic() - begin)}

    def _smooth(self, name: str, value: float) -> None:
        self.metrics[name] = value if name not in self.metrics else (1 - EMA) * self.metrics[name] + EMA * value


def _device(wanted: str) -> str:
    """ "cuda" or "cpu". torch is imported only where there is a GPU to ask about."""
    if wanted == "cpu" or (wanted == "auto" and shutil.which("nvidia-smi") is None):
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if wanted == "cuda":
        raise RuntimeError("device=cuda was asked for, but torch finds no GPU: use device=auto, or install a CUDA build of torch (dshq doctor)")
    return "cpu"


def _resume(learner: Learner, slots: WeightSlots, job: Mapping[str, Any], config: TrainConfig, channel: Channel) -> tuple[int, float]:
    """Load what there is: the newest published weights, and a file's optimiser state where it is of the same version. -> agent steps, seconds."""
    published = slots.read(0)
    saved = checkpoint.load(job["resume"]) if job.get("resume") else None
    if published is None and saved is None:
        learner.load(policy.initial_weights(learner.spec.layers, config.seed))
        return 0, 0.0
    if published is not None and (saved is None or saved.version != published[0]):
        learner.load(published[2])
        if saved is not None:
            channel.send({"type": "WARNING", "text": f"going on from version {published[0]} with a fresh optimiser: the saved one is of version {saved.version}"})
        return published[1], 0.0
    assert saved is not None
    learner.load(saved.weights)
    if "adam_m" in saved.state:
        learner.restore(saved.state)
    return saved.step, float(saved.metrics.get("seconds", 0.0))


def _roll_back(learner: Learner, slots: WeightSlots, spec: PolicySpec, config: TrainConfig) -> None:
    good = slots.read(0)
    learner.load(good[2] if good is not None else policy.initial_weights(spec.layers, config.seed))


def _scaled(hyper: Hyper, rate: float) -> Hyper:
    return hyper if rate == 1.0 else replace(hyper, learning_rate=hyper.learning_rate * rate)


def _no_stats(n_terms: int) -> np.ndarray:
    stats = np.zeros(len(STATS) + n_terms)
    stats[STATS.index("return_min")], stats[STATS.index("return_max")] = math.inf, -math.inf
    return stats


def _merge(parts: list[np.ndarray]) -> np.ndarray:
    """Sum of several stats arrays; their extremes are extremes."""
    total = np.sum(parts, axis=0)
    low, high = STATS.index("return_min"), STATS.index("return_max")
    total[low], total[high] = min(p[low] for p in parts), max(p[high] for p in parts)
    return total


def _add(tally: Tally, batch: Batch, learned: dict[str, float], rollout: float, update: float, whole: float) -> None:
    tally.stats = _merge([tally.stats, batch.stats])
    tally.learned.append(learned)
    tally.rollout_ms += 1000 * rollout
    tally.update_ms += 1000 * update
    tally.lag = max(tally.lag, batch.lag)
    tally.seconds += whole
    tally.updates += 1


def _report(tally: Tally, hyper: Hyper, drill: CompiledDrill, steps: int, updates: int, version: int, spent: float, wall: float,
            dropped: int) -> dict[str, float]:  # fmt: skip
    """The metrics of one report, by the flat names of protocol.py."""
    sums = dict(zip(STATS, tally.stats, strict=False))
    n = max(1, tally.updates)
    values: dict[str, float] = {
        "agent_steps": steps,
        "agent_steps_per_second": sums["agent_steps"] / max(wall, 1e-9),
        "updates": updates,
        "updates_per_second": tally.updates / max(wall, 1e-9),
        "version": version,
        "seconds": spent,
        "policy_lag": tally.lag,
        "dropped_chunks": dropped,
        "learning_rate": hyper.learning_rate,
        "clip_epsilon": hyper.clip_epsilon,
        "entropy_coef": hyper.entropy_coef,
        "rollout_ms": tally.rollout_ms / n,
        "update_ms": tally.update_ms / n,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    for name in {key for row in tally.learned for key in row}:
        values[name] = float(np.mean([row[name] for row in tally.learned if name in row]))
    if sums["episodes"]:
        values["episode_length_mean"] = sums["decisions"] / sums["episodes"]
    if sums["returns"]:
        values["return_mean"] = sums["return_sum"] / sums["returns"]
        values["return_min"], values["return_max"] = sums["return_min"], sums["return_max"]
        for k, term in enumerate(drill.spec["terms"]):
            values[f"reward_{term['name']}"] = tally.stats[len(STATS) + k] / sums["returns"]
    return values


def _hold(channel: Channel, seconds: float) -> None:
    """Sleep to keep the pace, in short naps so that a stop is heard."""
    end = time.monotonic() + seconds
    while not channel.closed and (left := end - time.monotonic()) > 0:
        time.sleep(min(left, 0.05))


def _save(path: str, drill: CompiledDrill, spec: PolicySpec, learner: Learner, version: int, steps: int, config: TrainConfig,
          metrics: dict[str, float], channel: Channel) -> None:  # fmt: skip
    saved = checkpoint.Checkpoint(drill.name, drill.rules_hash, spec.layers, spec.activation, learner.blob(), version, steps, config.seed,
                                  config.to_json(), metrics, learner.state())  # fmt: skip
    try:
        checkpoint.save(path, saved)
    except checkpoint.CheckpointError as error:
        channel.send({"type": "WARNING", "text": str(error)})
        return
    channel.send({"type": "CHECKPOINT", "path": os.fspath(path)})
