"""The learner process: play, learn, publish, report, over and over. Role `dshq_widget.algorithms.ppo.drill_run:run`.

Everything it says and hears is in protocol.py (`learner_to_kernel`, `kernel_to_learner`). The clock `seconds` runs
only while it plays and learns: not while it compiles, evaluates, saves or keeps a slower pace.
"""

from __future__ import annotations

import math
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dshq_widget.algorithms.ppo import tuning
from dshq_widget.algorithms.ppo.games import OwnGames, RingGames, own_games
from dshq_widget.algorithms.ppo.learners import learners
from dshq_widget.algorithms.ppo.learners.learner import Hyper, Learner
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.collapse_guard import Guard
from dshq_widget.learning.entropy_guard import EntropyGuard
from dshq_widget.learning.evaluator import Evaluator
from dshq_widget.learning.league import League
from dshq_widget.learning.pace import Pace
from dshq_widget.learning.report import Tally
from dshq_widget.learning.scene_evaluation import SceneEvaluation
from dshq_widget.learning.scenes import saved_state
from dshq_widget.learning.writers import Logs
from dshq_widget.policy import checkpoint
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.opponents import OpponentSlots, slot_count
from dshq_widget.runtime.process import Channel, step_aside
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.runtime.worker import unpack

if TYPE_CHECKING:
    from dshq_widget.algorithms.ppo.learners.validation import Validator
    from dshq_widget.algorithms.ppo.resident_games import ResidentGames

REPORT_SECONDS = 0.5
REST_SECONDS = 0.5
"""Longest time without a look at the clock and a sign of life; commands are heard at once all the same."""
AUTOSAVE_SECONDS = 300.0
ROLLBACK_RATE, LEAST_RATE = 0.5, 1 / 64
"""What a rollback multiplies the learning rate with, and the smallest product of such (assumed); every new champion
takes one back."""
MOST_SKIPS = 3
"""Updates with a gradient that was not finite, one after the other, that lead back to the last published weights."""
MOST_RETURNS = 5
"""Ways back without a good update in between before training gives up."""


def run(channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]) -> None:
    """Train until told to stop. `job` is made by crew.py."""
    train(Session(channel, job, blocks))


def train(session: Session) -> None:
    """The loop itself, over whatever session."""
    channel, job = session.channel, session.job
    if not session.first_round():
        return
    if job.get("gentle"):
        step_aside()
    now = time.monotonic()
    tally, evaluated, saved = Tally(now), now, now
    until_solved = bool(job.get("until_solved"))
    while not channel.closed and not (until_solved and session.judge.solved):
        if rest := session.rest():
            now = time.monotonic()
            if tally.learned and rest > REPORT_SECONDS:  # what was learned is told before a long rest
                session.report(tally, now)
                tally = Tally(now)
            if session.pace.paused:
                tally.began = now  # a wait to be asked has no rate
            session.hear(min(rest, REST_SECONDS))
            continue
        session.hear()
        begin = time.monotonic()
        batch = session.games.next(session.learner, session.config, session.version)
        if batch is None:
            continue
        played = time.monotonic()
        learned = session.learn(batch.samples, batch.units)
        batch.done()
        now = time.monotonic()
        tally.add(batch.stats, learned, batch.lag, played - begin, now - played)
        session.seconds += now - begin
        session.compete(learned)
        session.pace.made(begin, len(batch.units) * 16)
        if now - evaluated >= session.judge.pause:
            session.judge.play(session.learner.blob())
            evaluated = time.monotonic()
        if session.rehearsal.due:
            tally.began += session.rehearse()
        if now - tally.began >= REPORT_SECONDS:
            session.report(tally, now)
            tally = Tally(now)
        if now - saved >= AUTOSAVE_SECONDS and job.get("autosave"):
            session.save(job["autosave"])
            saved = time.monotonic()
    if tally.learned:
        session.report(tally, time.monotonic())
    if not channel.closed and job.get("autosave"):
        session.save(job["autosave"])
    session.hear()
    if session.logs:
        session.logs.close()
    channel.send({"type": "STOPPED"})


class Session:
    """What one learner process knows and does, step by step."""

    def __init__(self, channel: Channel, job: Mapping[str, Any], blocks: Mapping[str, SharedBlock]):
        self.channel, self.job = channel, job
        self.config = TrainConfig.from_values(job["hyper"])
        self.drill = CompiledDrill.from_json(job["drill"])
        self.threads = int(job.get("threads") or os.environ.get("OMP_NUM_THREADS") or 1)
        self.workers = int(job.get("workers", 0))
        self._say(f"compiling the rules of {self.drill.spec['title']}")
        self.drill.game()
        self.spec = PolicySpec.for_config(self.drill.spec, self.config)
        self.device = choose_device("cpu" if self.config.deterministic else self.config.device)
        self._say(f"preparing the learner on the {'GPU' if self.device == 'cuda' else 'CPU'}")
        self.learner = self._make_learner()
        self.slots = WeightSlots.attach(blocks["weights"], self.spec.floats)
        self.games: OwnGames | RingGames | ResidentGames
        self.pool_slots = slot_count(self.config)
        if self.workers:
            pool = OpponentSlots.attach(blocks["pool"], self.spec.floats, self.pool_slots) if self.pool_slots else None
            self.games = RingGames(self.drill, self.config, blocks["ring"], job["games"], job["lane_offsets"], pool)
        else:
            self.games, trouble = own_games(self.drill, self.config, self.learner, self.device, self.threads)
            if trouble:
                self.channel.send({"type": "WARNING", "text": trouble})
        self.judge = Evaluator(self.drill, self.spec, self.config.seed)
        self.league, self.guard = League(self.drill, self.spec, self.config.seed), Guard()
        self.entropy, self.rehearsal = EntropyGuard(), SceneEvaluation(self.drill, self.spec, self.config.seed)
        self.validator: Validator | None = None
        self.logs = Logs(job["log_dir"], self.drill.spec) if job.get("log_dir") else None
        self.pace = Pace(bool(job.get("paused")), int(job.get("asked", 0)))
        self.skips, self.returns = 0, 0  # bad updates, and ways back, one after the other
        self.metrics: dict[str, float] = {}
        self.agent_steps, self.updates, self.seconds, self.rate = 0, int(job.get("updates", 0)), 0.0, 1.0
        self._resume()
        self.version = self.slots.latest
        if self.workers and not self.version:
            self._publish()  # the workers wait for weights

    def first_round(self) -> bool:
        """Play and learn once at a learning rate of 0: this compiles what was never compiled, and the clock starts
        behind it. False where another team than this one has to train.
        """
        self._say("compiling the learner; only the first time on a machine does this take a while")
        games = OwnGames(self.drill, self.config.replace({"num_envs": 64, "rollout_length": 2}), 1)
        warm = self._make_learner()
        batch = games.next(warm, self.config, 0)
        assert batch is not None
        warm.update(batch.samples, batch.units, Hyper(learning_rate=0.0))
        tuned = self._tune()
        if tuned is None:
            self.channel.send({"type": "ANOTHER_TEAM"})
            return False
        self.judge.warm_up(self.learner.blob())
        self._begin_league()
        self.practise(self.job.get("scenes", []))
        where = "the GPU" if self.device == "cuda" else f"{self.threads} thread{'s' * (self.threads > 1)}"
        text = f"training on {where}" + (
            f" with {self.workers} rollout process{'es' * (self.workers > 1)}" if self.workers else ""
        )
        text += f", {self.config.num_envs:,} games at once ({tuned['why']})"
        team = {"device": self.device, "workers": self.workers, "threads": self.threads, "tuning": tuned}
        self.channel.send({"type": "PHASE", "phase": "training", "text": text, **team})
        return True

    def _tune(self) -> dict[str, Any] | None:
        """What was chosen for this machine and why; measured now where there is a choice and nobody has measured yet.
        None where another team turns out to be faster.
        """
        machine, spec = tuning.Machine(**self.job["machine"]), self.drill.spec
        if self.games.resident:
            return tuning.report(self.config, machine, None, tuning.Team(0, 1)) | {"why": "the GPU plays and learns"}
        rates = tuning.recall(spec, self.config, machine) if tuning.open_choice(self.config, machine) else None
        team = tuning.Team(self.workers, self.threads)
        if rates is None and tuning.open_choice(self.config, machine):
            self._say("measuring how fast this machine plays and learns")
            rates = tuning.measure(
                lambda threads: OwnGames(self.drill, self.config, threads),
                self._make_learner,
                self.config,
                self.threads,
            )
            try:
                tuning.remember(rates, spec, self.config, machine)
            except OSError as error:
                self.channel.send({"type": "WARNING", "text": f"what was measured could not be kept: {error}"})
                return tuning.report(self.config, machine, rates, team)
            wanted = tuning.choose(self.config, machine, rates)
            if (wanted.workers, wanted.threads) != (self.workers, self.threads):
                return None
        return tuning.report(self.config, machine, rates, team)

    def hear(self, seconds: float = 0.0) -> None:
        """Do what the kernel has asked for, and wait for it so long at most."""
        for command in self.channel.poll(seconds):
            if command["type"] == "SET_HYPER":
                self.config = self.config.replace({command["key"]: command["value"]})
            elif command["type"] == "PAUSE_TRAINING":
                self.pace.paused = True
            elif command["type"] == "RESUME_TRAINING":
                self.pace.resume()
            elif command["type"] == "NEXT_UPDATE":
                self.pace.next_update()
            elif command["type"] == "SAVE":
                self.save(command["path"])
            elif command["type"] == "SCENES":
                self.practise(command["scenes"])

    def practise(self, packed: list[str]) -> None:
        """Play these scenes from now on; how the policy does on new ones is measured before it learns from them."""
        scenes = unpack(packed, self.rehearsal.scenes.shape[1])
        self.games.practise(scenes)
        self.rehearsal.take(scenes)
        if self.rehearsal.due:
            self.rehearse()

    def rehearse(self) -> float:
        """Measure how the policy does on every scene, and say so. -> seconds that it took."""
        begin = time.monotonic()
        rows = self.rehearsal.play(self.learner.blob(), self.version)
        self.channel.send({"type": "SCENES", "rows": rows})
        return time.monotonic() - begin

    def learn(self, samples: Any, units: np.ndarray) -> dict[str, float]:
        """One update, published unless something in it was not finite. -> the learner's metrics."""
        skipped = self.learner.skipped
        checked = self.validate(samples, units)
        learned = self.learner.update(samples, units, self.hyper()) | checked
        self.agent_steps += len(units) * 16
        skipped = self.learner.skipped - skipped
        if skipped:
            self._skip(samples, skipped)
            return learned
        try:
            self._publish()
        except ValueError as error:
            self.go_back(str(error))
            return learned
        self.updates += 1
        self.skips = self.returns = 0
        returns = samples.mean_return(units)
        entropy = learned.get("entropy", math.inf)
        asleep = self.entropy.after_update(entropy, returns, self.config.min_entropy, self.learner.blob())
        if asleep:
            self.wake(asleep)
        return learned

    def validate(self, samples: Any, units: np.ndarray) -> dict[str, float]:
        """Now and then the torch reference on a minibatch of what comes to be learned. -> metrics of the comparison."""
        if not self.config.validate_every or self.updates % self.config.validate_every:
            return {}
        from dshq_widget.algorithms.ppo.learners.validation import Validator  # imports torch

        self.validator = self.validator or Validator(self.learner)
        seed = (self.config.seed, self.updates)
        finding = self.validator.compare(self.learner, samples, units, self.hyper(), seed)
        if finding.first is not None:
            self.channel.send({"type": "WARNING", "text": finding.sentence()})
        return {
            "validation_absolute_error": finding.largest_absolute,
            "validation_relative_error": finding.largest_relative,
        }

    def wake(self, why: str) -> None:
        """Take up the newest weights that still explored, where there are some, with a larger entropy bonus."""
        back = "goes on"
        if self.entropy.awake is not None:
            self.learner.load(self.entropy.awake)
            self.guard.begin_anew()
            self._publish()
            back = "went back to a policy that still explored and goes on"
        text = f"training {back} with {self.entropy.bonus:.3g} more entropy bonus: {why}"
        self.channel.send({"type": "WARNING", "text": text})

    def compete(self, learned: dict[str, float]) -> None:
        """What the league does after an update: rate the policy now and then, draw new opponents, and go back to the
        champion where training has fallen apart.
        """
        trouble = self.guard.after_update(learned) if "loss_value" in learned else ""
        if self.league.due(self.updates, self.agent_steps, self.config.snapshot_every):
            points, matches = self._hold_round()
            assert self.league.champion is not None
            trouble = trouble or self.guard.after_round(points, matches, self.league.champion.share)
        if trouble and self.config.collapse_guard and self.league.champion is not None:
            self.fall_back(trouble)
        if self.pool_slots and self.updates % self._rollouts_per_match() == 0:
            self.games.meet(self.league.draw(self.pool_slots))

    def fall_back(self, why: str) -> None:
        """Take up the champion's weights with a fresh optimiser and a smaller step, and publish them at once."""
        champion = self.league.champion
        assert champion is not None
        self.rate = max(self.rate * ROLLBACK_RATE, LEAST_RATE)
        self.learner.load(champion.weights)
        self.guard.begin_anew()
        self._publish()
        self.games.forget_before(self.version)
        back = f"training went back to its champion, version {champion.version}, and goes on with {self.rate:.3g}"
        self.channel.send({"type": "WARNING", "text": f"{back} of the learning rate: {why}"})

    def _begin_league(self) -> None:
        """The first snapshot of a run that has none, and the first opponents of the pool."""
        if self.league.pinned and not self.league.snapshots:
            self._hold_round()
        if self.pool_slots:
            chosen = self.league.opponents
            self.games.meet(chosen if len(chosen) == self.pool_slots else self.league.draw(self.pool_slots))

    def _hold_round(self) -> tuple[float, int]:
        champion = self.league.champion
        hyper = {key: value for key, value in asdict(self.hyper()).items() if isinstance(value, (int, float))}
        result = self.league.hold_round(self.learner.blob(), self.version, self.agent_steps, self.updates, hyper)
        if self.league.champion is not champion:
            self.rate = min(self.rate / ROLLBACK_RATE, 1.0)  # a better one than ever: no reason for caution
        self.channel.send({"type": "LEAGUE", "rows": self.league.rows()})
        return result

    def _rollouts_per_match(self) -> int:
        """Rollouts in which every match ends: so long an opponent stays."""
        spec = self.drill.spec
        return -(-spec["time_limit"] // (spec["action_repeat"] * self.config.rollout_length))

    def go_back(self, why: str) -> None:
        """Take up the last published weights with a fresh optimiser and a smaller step. Raises RuntimeError where doing
        so has led nowhere several times.
        """
        self.returns += 1
        if self.returns > MOST_RETURNS:
            raise RuntimeError(
                f"training cannot go on: it went back to the last good weights {MOST_RETURNS} times without one good "
                f"update in between, the last time because {why}"
            )
        self.skips = 0
        self.rate *= ROLLBACK_RATE
        good = self.slots.read(0)
        self.learner.load(self.spec.untrained(self.config.seed) if good is None else good[2])
        back = f"training went back to version {self.version} and goes on with {self.rate:.3g} of the learning rate"
        self.channel.send({"type": "WARNING", "text": f"{back}: {why}"})

    def _skip(self, samples: Any, minibatches: int) -> None:
        """Leave out an update in which `minibatches` had a gradient that was not finite."""
        self.games.mend(samples)
        self.skips += 1
        what = f"{minibatches} minibatches had a gradient that is not finite; look at the rewards and observations"
        if self.skips >= MOST_SKIPS:
            self.go_back(f"{self.skips} updates in a row were skipped, in the last one {what}")
        elif self.skips == 1:
            self.channel.send({"type": "WARNING", "text": f"an update was skipped: {what}"})

    def hyper(self) -> Hyper:
        """The settings of the next update, schedules and rollbacks applied."""
        hyper = Hyper.at(self.config, self.agent_steps)
        return replace(
            hyper,
            learning_rate=hyper.learning_rate * self.rate,
            entropy_coef=hyper.entropy_coef + self.entropy.bonus,
        )

    def rest(self) -> float:
        """Seconds until the next update may begin; the games of it are played then, too."""
        return self.pace.rest(time.monotonic(), self.config.pace)

    def report(self, tally: Tally, now: float) -> None:
        """Send one row of metrics."""
        counters = {
            "agent_steps": self.agent_steps,
            "updates": self.updates,
            "version": self.version,
            "seconds": self.seconds,
            "dropped_chunks": self.games.dropped,
        }
        row = tally.row(self.drill, self.hyper(), now)
        if now - tally.began < REPORT_SECONDS / 2:  # the last moment before a stop says nothing about rates
            row |= {
                key: self.metrics[key] for key in self.metrics.keys() & {"agent_steps_per_second", "updates_per_second"}
            }
        self.metrics = row | counters | self.judged()
        self.channel.send({"type": "METRICS", "values": self.metrics})
        if self.logs and (trouble := self.logs.write(self.metrics)):
            self.channel.send({"type": "WARNING", "text": trouble})

    def judged(self) -> dict[str, float]:
        """The metrics of whoever measures the policy."""
        return self.judge.metrics | self.league.metrics

    def state(self) -> dict[str, np.ndarray]:
        """What goes into a checkpoint beside the learner's own state and the counters."""
        league = {**self.league.state(), "train.guard": self.guard.state()}
        return {**self.games.state(), **league, **saved_state(self.rehearsal.scenes)}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over what `state` returned."""
        self.games.restore(state)
        self.league.restore(state)
        if "train.guard" in state:
            self.guard.restore(state["train.guard"])

    def save(self, path: str) -> None:
        """Write everything that going on exactly from here needs; a failure is a warning, and training goes on."""
        counts = {"train.updates": np.array(self.updates, np.int64), "train.rate": np.array(self.rate)}
        state = {**self.learner.state(), **self.state(), **self.entropy.state(), **counts}
        saved = checkpoint.Checkpoint(
            drill=self.drill.name,
            rules_hash=self.drill.rules_hash,
            layers=self.spec.layers,
            activation=self.spec.activation,
            weights=self.learner.blob(),
            version=self.version,
            step=self.agent_steps,
            seed=self.config.seed,
            config=self.config.to_json(),
            metrics=self.metrics | {"seconds": self.seconds},
            state=state,
            environment=dict(self.drill.spec.get("environment", {})),
        )
        try:
            checkpoint.save(path, saved)
        except checkpoint.CheckpointError as error:
            self.channel.send({"type": "WARNING", "text": str(error)})
            return
        self.channel.send({"type": "CHECKPOINT", "path": os.fspath(path)})

    def _make_learner(self, threads: int = 0) -> Learner:
        """On so many threads, or on all that the learner has."""
        normalizer = Normalizer(self.spec, self.config.normalize_observations, self.config.normalize_rewards)
        options: dict[str, Any] = {
            "seed": self.config.seed,
            "threads": threads or self.threads,
            "normalizer": normalizer,
        }
        if self.device == "cpu":
            return learners["fused"](self.spec, **options)
        return learners["resident"](self.spec, device=self.device, graph=self.device == "cuda", **options)

    def _publish(self) -> None:
        """Raises ValueError, with nothing published, for weights that are not finite."""
        self.slots.publish(self.version + 1, self.agent_steps, self.learner.blob())
        self.version += 1

    def _resume(self) -> None:
        """Take over the newest published weights, and all else from a file of the very same version."""
        published = self.slots.read(0)
        saved = checkpoint.load(self.job["resume"]) if self.job.get("resume") else None
        if saved is not None and (published is None or saved.version == published[0]):
            self.learner.load(saved.weights)
            if "adam_m" in saved.state:
                self.learner.restore(dict(saved.state))
            self.restore(saved.state)
            self.entropy.restore(saved.state)
            self.agent_steps, self.seconds = saved.step, float(saved.metrics.get("seconds", 0.0))
            self.updates = int(saved.state.get("train.updates", saved.metrics.get("updates", 0)))
            self.rate = float(saved.state.get("train.rate", 1.0))
        elif published is not None:
            self.learner.load(published[2])
            self.agent_steps = published[1]
            self.channel.send(
                {"type": "WARNING", "text": f"training goes on from version {published[0]} with a fresh optimiser"}
            )

    def _say(self, text: str) -> None:
        self.channel.send({"type": "PHASE", "phase": "starting", "text": text})


def choose_device(wanted: str) -> str:
    """`cuda` or `cpu`; torch is imported only where there is a GPU to ask about. Raises RuntimeError for a GPU that
    is not there.
    """
    if wanted == "cpu" or (wanted == "auto" and shutil.which("nvidia-smi") is None):
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if wanted == "cuda":
        raise RuntimeError(
            "device=cuda was asked for, but torch finds no GPU: "
            "use device=auto, or install a CUDA build of torch (see dshq doctor)"
        )
    return "cpu"
