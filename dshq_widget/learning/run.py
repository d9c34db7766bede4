"""One training run in a learner process, composed of parts: play, learn, publish, report, in a loop.

An algorithm's run module creates the parts (parts.py), passes them to a `Run` and calls `train`; see
algorithms/ppo/drill_run.py. All messages are in protocol.py (`learner_to_kernel`, `kernel_to_learner`). The clock
`seconds` runs only while it plays and learns, not while it compiles, evaluates, saves or waits for the pace.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dshq_widget.contract import settings
from dshq_widget.contract.game_spec import DEFAULT_ALGORITHM, Game
from dshq_widget.contract.metrics import metric_named
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.learning.limits import Limits
from dshq_widget.learning.pace import Pace
from dshq_widget.learning.parts import Evaluator, Experience, Learner, Progress, Source
from dshq_widget.learning.publisher import Publisher
from dshq_widget.learning.saved import saved_state
from dshq_widget.learning.telemetry.report import Tally
from dshq_widget.learning.telemetry.trackers import Tracking
from dshq_widget.learning.telemetry.writers import Logs
from dshq_widget.policy import checkpoint
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.budget import peak_memory_mb
from dshq_widget.runtime.priority import Priority
from dshq_widget.runtime.process import Channel
from dshq_widget.runtime.words import reason_of

REPORT_SECONDS = 0.5
REST_SECONDS = 0.5
"""Longest wait without checking the clock and sending a sign of life; commands are still received at once."""
FIRST_AUTOSAVE_SECONDS = 10.0
"""Latest time of the first autosave; the setting `autosave_seconds` sets the interval of the others."""
ROLLBACK_RATE, LEAST_RATE = 0.5, 1 / 64
"""Factor of the learning rate at each revert, and the lower limit of the product (assumed)."""
RECOVERY = 1000
"""Good updates since the last revert that undo one factor (assumed; ten rounds of the league by default, seconds to
minutes of training: from the lower limit back in 6,000)."""
MOST_SKIPS = 3
"""Number of updates in a row with a non-finite gradient that cause a revert to the last published weights."""
MOST_REVERTS = 5
"""Number of reverts without a good update in between before training fails."""


def announce(channel: Channel, text: str) -> None:
    """Report what is being prepared before training begins."""
    channel.send({"type": "PHASE", "phase": "starting", "text": text})


def warn(channel: Channel, text: str) -> None:
    """A sentence for the status line and the log."""
    channel.send({"type": "WARNING", "text": text})


class Companion:
    """An optional part that watches a run and may act on it; by default every hook does nothing."""

    @property
    def metrics(self) -> dict[str, float]:
        """Added to every row of metrics."""
        return {}

    def begin(self, run: Run) -> None:
        """The run is about to begin."""

    def after_update(self, run: Run, experience: Experience, learned: Mapping[str, float]) -> None:
        """The learner has finished an update; `learned` lacks `loss_value` if the update was skipped."""

    def weights_replaced(self) -> None:
        """The learner reverted to other weights: forget what was usual."""

    def rewards_changed(self) -> None:
        """The reward weights have changed: what was usual, or best, was so for another aim."""

    def resting(self, run: Run) -> None:
        """The run waits, for its pace or because it is paused: about twice a second."""

    def receive(self, run: Run, command: Mapping[str, Any]) -> None:
        """A command from the kernel that the run itself does not handle (protocol.py, kernel_to_learner)."""

    def state(self) -> dict[str, np.ndarray]:
        """Its state for a checkpoint; names begin with `train.`."""
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `state` returned, if present."""


class Run:
    """The parts of one run and its counters. It resumes from `job["resume"]` when created. `job` holds the kernel's
    orders: `hyper`, `resume`, `autosave`, `updates`, `seconds`, `paused`, `asked`, `gentle`, `until_solved`, `limits`
    (limits.py), `log_dir`, `track`, `algorithm`, `algorithm_settings`, `spare` (a file for where the autosave cannot be
    written, or None). `drill` is a CompiledDrill, or an Environment that has its `spec`.
    """

    def __init__(
        self,
        channel: Channel,
        job: Mapping[str, Any],
        *,
        drill: Game,
        config: TrainConfig,
        spec: PolicySpec,
        learner: Learner,
        source: Source,
        evaluator: Evaluator,
        publisher: Publisher,
        companions: Sequence[Companion] = (),
    ) -> None:
        self.channel, self.job = channel, job
        self.drill, self.config, self.spec = drill, config, spec
        self.learner, self.source, self.evaluator, self.publisher = learner, source, evaluator, publisher
        self.companions = tuple(companions)
        self.algorithm_settings = dict(job.get("algorithm_settings") or {})
        self.logs = Logs(job["log_dir"], drill.spec) if job.get("log_dir") else None
        named = config.to_json() | self.algorithm_settings
        self.algorithm = str(job.get("algorithm", DEFAULT_ALGORITHM))
        title = f"{drill.name} {self.algorithm} {config.seed}"
        self.tracking = Tracking(job.get("track", ""), title, named, self.warn)
        self.limits, self.spent = Limits.of(job.get("limits")), 0.0
        self.until_solved = bool(job.get("until_solved"))
        self.priority = Priority(self._say_processors, gentle=bool(job.get("gentle")))
        self.pace = Pace(bool(job.get("paused")), int(job.get("asked", 0)))
        self.skips, self.reverts = 0, 0  # bad updates, and reverts, in a row
        self.metrics: dict[str, float] = {}
        self._asked_for: dict[str, int] = {}  # the file asked for last, and the version in it
        self.agent_steps, self.updates = 0, int(job.get("updates", 0))
        self._in_files = self._counts  # what files have already: an autosave without anything new takes no place
        self.seconds = float(job.get("seconds", 0.0))
        self.rate, self.entropy_bonus = 1.0, 0.0
        self.good = 0  # updates since the last revert, or since the learning rate was last raised again
        self.tally = Tally(self.spent)
        self._resume()

    @property
    def version(self) -> int:
        """The newest published version."""
        return self.publisher.version

    def explore(self, bonus: float) -> None:
        """Learn with this entropy bonus beside the setting's, from the next update on."""
        self.entropy_bonus = bonus

    @property
    def progress(self) -> Progress:
        """Progress of the run, for the learner."""
        return Progress(self.config, self.agent_steps, self.updates, self.rate, self.entropy_bonus)

    def train(self, ready: Mapping[str, Any]) -> None:
        """The loop. Returns when the kernel asks for it, at the update that reaches one of the limits, or when the
        drill is solved and that was to be the end. `ready` is sent with the phase `training` when the clock starts:
        `text`, `device`, `workers`, ...
        """
        channel, job = self.channel, self.job
        for companion in self.companions:
            companion.begin(self)
        channel.send({"type": "PHASE", "phase": "training", **ready})
        self.priority.start()
        evaluated = saved = time.monotonic()
        save_after = min(FIRST_AUTOSAVE_SECONDS, self.config.autosave_seconds)
        while not channel.closed and not (self.until_solved and self.evaluator.solved) and not self._used_up:
            if rest := self.pace.rest(time.monotonic(), self.config.pace):
                self._rest(rest)
                continue
            self.receive()
            begin = time.monotonic()
            experience = self.source.next(self.learner.player, self.config, self.version)
            if experience is None:
                self.spent += time.monotonic() - begin
                continue
            played = time.monotonic()
            learned = self.learn(experience)
            now = time.monotonic()
            self.tally.add(experience.stats, learned, experience.lag, played - begin, now - played)
            self.seconds += now - begin
            self.spent += now - begin
            for companion in self.companions:
                companion.after_update(self, experience, learned)
            experience.done()
            self.pace.made(begin, experience.agent_steps)
            if now - evaluated >= self.evaluator.pause(self.config):
                self.evaluator.play(self.learner.blob())
                evaluated = time.monotonic()
            if self.spent - self.tally.began >= REPORT_SECONDS:
                self.report()
            if now - saved >= save_after and job.get("autosave"):
                self.autosave()
                saved, save_after = time.monotonic(), self.config.autosave_seconds
        if self.tally.learned:
            self.report()
        self.receive()
        autosave = str(job.get("autosave") or "")
        late = self._asked_for.get(autosave, self.version) != self.version  # an update came between SAVE and the end
        if autosave and (late or not channel.closed) and self._new:
            self.autosave()
        if self.logs:
            self.logs.close()
        self.tracking.close()
        channel.send({"type": "STOPPED"})

    @property
    def _new(self) -> bool:
        """Whether the run has something that no file has: before that, the autosave's place may hold another run."""
        return self._counts != self._in_files

    @property
    def _counts(self) -> tuple[int, int]:
        return self.agent_steps, self.updates

    @property
    def _used_up(self) -> bool:
        return self.limits.reached(self.updates, self.agent_steps, self.spent)

    def _rest(self, seconds: float) -> None:
        """Wait for the next update's time, or for a command."""
        now = time.monotonic()
        if self.tally.learned and seconds > REPORT_SECONDS:  # report before a long wait
            self.report()
        for companion in self.companions:
            companion.resting(self)
        counts = not self.pace.paused
        self.receive(min(seconds, REST_SECONDS, max(self.limits.seconds - self.spent, 0.0) if counts else REST_SECONDS))
        if counts:
            self.spent += time.monotonic() - now

    def receive(self, seconds: float = 0.0) -> None:
        """Execute commands from the kernel; wait for them at most `seconds`."""
        for command in self.channel.poll(seconds):
            if command["type"] == "SET_HYPER" and command["key"] in settings.FIELDS:
                paid = self.config.reward_weights
                self.config = self.config.replace({command["key"]: command["value"]})
                self._tell_if_rewards_changed(paid)
            elif command["type"] == "PAUSE_TRAINING":
                self.pace.pause()
            elif command["type"] == "RESUME_TRAINING":
                self.pace.resume()
            elif command["type"] == "NEXT_UPDATE":
                self.pace.next_update()
            elif command["type"] == "SAVE":
                own = command["path"] == self.job.get("autosave")
                if own and not self._new:
                    continue
                self.autosave() if own else self.save(command["path"])
                self._asked_for = {command["path"]: self.version}
            elif command["type"] == "UNTIL_SOLVED":
                self.until_solved = True
            else:
                if command["type"] == "SET_HYPER":
                    self.algorithm_settings |= command["value"]
                for companion in self.companions:
                    companion.receive(self, command)

    def _tell_if_rewards_changed(self, then: Mapping[str, float]) -> None:
        """Tell the companions where `then`, weights by name of terms, paid otherwise than the run's own."""
        now, terms = self.config.reward_weights, self.drill.spec.terms
        if any(then.get(term.name, term.weight) != now.get(term.name, term.weight) for term in terms):
            for companion in self.companions:
                companion.rewards_changed()

    # ---- updates, and what follows from bad ones

    def learn(self, experience: Experience) -> dict[str, float]:
        """Make one update and publish it if any of it was made and its weights are finite. Returns the learner's
        metrics.
        """
        skipped = self.learner.skipped
        learned = self.learner.update(experience, self.progress)
        self.agent_steps += experience.agent_steps
        skipped = self.learner.skipped - skipped
        if skipped:
            self.source.mend(experience.samples)
        taught = "loss_value" in learned
        if taught or not skipped:  # what other minibatches taught is in the learner already
            try:
                self.publish()
            except ValueError as error:
                self.go_back(str(error))
                return learned
            self.updates += 1
        if skipped:
            self._skip(skipped, partly=taught)
            return learned
        self.skips = self.reverts = 0
        self.good += 1
        if self.good >= RECOVERY:
            self.rate, self.good = min(self.rate / ROLLBACK_RATE, 1.0), 0
        return learned

    def publish(self) -> None:
        """Publish the learner's weights. Raises ValueError and publishes nothing if they are not finite."""
        self.publisher.publish(self.agent_steps, self.learner.blob())

    def replace_weights(self, weights: np.ndarray) -> None:
        """Load other weights with a fresh optimiser, and publish them at once; what others played is discarded."""
        self.learner.load(weights)
        for companion in self.companions:
            companion.weights_replaced()
        self.publish()
        self.source.forget_before(self.version)

    def slow_down(self) -> None:
        """Halve the learning rate after a setback, down to `LEAST_RATE` of it; good updates raise it again."""
        self.rate, self.good = max(self.rate * ROLLBACK_RATE, LEAST_RATE), 0

    def go_back(self, why: str) -> None:
        """Revert to the last published weights with a fresh optimiser and a smaller learning rate. Raises RuntimeError
        after several reverts without success.
        """
        self.reverts += 1
        if self.reverts > MOST_REVERTS:
            raise RuntimeError(
                f"training failed: it reverted to the last good weights {MOST_REVERTS} times in a row; the last "
                f"time because {why}"
            )
        self.skips = 0
        self.slow_down()
        good = self.publisher.latest()
        self.learner.load(self.spec.untrained(self.config.seed) if good is None else good[2])
        self.warn(f"reverted to version {self.version}; continuing with the learning rate times {self.rate:.3g}: {why}")

    def _skip(self, minibatches: int, partly: bool) -> None:
        """Handle an update of which `minibatches` had a non-finite gradient and were skipped, all or only a part."""
        self.skips += 1
        what = f"{minibatches} minibatches had a non-finite gradient; check the rewards and observations"
        if self.skips >= MOST_SKIPS:
            self.go_back(f"{self.skips} updates in a row were skipped; in the last one {what}")
        elif self.skips == 1:
            self.warn(f"an update was skipped{' in part' if partly else ''}: {what}")

    # ---- what it reports and saves

    def warn(self, text: str) -> None:
        """A sentence for the status line and the log."""
        warn(self.channel, text)

    def _say_processors(self, processors: float, takers: dict[str, float] | None) -> None:
        """Others leave too few processors, or enough again (runtime/priority.py)."""
        self.channel.send({"type": "PROCESSORS", "processors": processors, "takers": takers})

    @property
    def _counters(self) -> dict[str, float]:
        """The true numbers of now."""
        return {
            "agent_steps": self.agent_steps,
            "updates": self.updates,
            "version": self.version,
            "seconds": self.seconds,
        }

    def report(self) -> None:
        """Send one row of metrics and begin the next."""
        tally, self.tally = self.tally, Tally(self.spent)
        row = tally.row(self.drill.spec, self.spent)
        row |= {key: value for key, value in self.learner.schedule(self.progress).items() if metric_named(key)}
        row["memory_mb"] = peak_memory_mb() + self.source.memory_mb
        row["processors"] = self.priority.processors
        if self.spent - tally.began < REPORT_SECONDS / 2:  # a short interval before a stop gives no valid rate
            rates = ("agent_steps_per_second", "updates_per_second")
            row |= {key: self.metrics[key] for key in rates if key in self.metrics}
        self.metrics = row | self._counters | {"dropped_chunks": self.source.dropped} | self.evaluator.metrics
        for companion in self.companions:
            self.metrics |= companion.metrics
        self.channel.send({"type": "METRICS", "values": self.metrics, "spent": self.spent})
        if self.logs and (problem := self.logs.write(self.metrics)):
            self.warn(problem)
        self.tracking.write(self.metrics)

    def autosave(self) -> None:
        """Write the run's own file; where that fails, and nothing else would have what was learned, the spare one.
        A temporary folder is made again where somebody has cleaned it.
        """
        for path in filter(None, (self.job["autosave"], self.job.get("spare"))):
            if path == self.job.get("temporary"):
                with contextlib.suppress(OSError):  # it is there, or `save` says why not
                    os.mkdir(os.path.dirname(path), 0o700)
            if self.save(path):
                return

    def save(self, path: str) -> bool:
        """Write everything needed for an exact continuation; whether it is written. A failure is a warning, and
        training continues.
        """
        try:
            checkpoint.save(path, self._saved())
        except (checkpoint.CheckpointError, MemoryError) as error:
            self.warn(f"not saved: {reason_of(error)}" if isinstance(error, MemoryError) else str(error))
            return False
        self.channel.send({"type": "CHECKPOINT", "path": os.fspath(path)})
        return True

    def _saved(self) -> checkpoint.Checkpoint:
        """The run as it is now."""
        counts = {"train.updates": np.array(self.updates, np.int64), "train.rate": np.array(self.rate)}
        counts["train.good"] = np.array(self.good, np.int64)
        state = _arrays({**self.learner.state(), **counts})
        for companion in self.companions:
            state |= self._finite(companion.state())
        state |= self._within(self._finite(self.source.state()), state)
        return checkpoint.Checkpoint(
            drill=self.drill.name,
            rules_hash=self.drill.rules_hash,
            layers=self.spec.layers,
            activation=self.spec.activation,
            weights=self.learner.blob(),
            version=self.version,
            step=self.agent_steps,
            seed=self.config.seed,
            config=self.config.to_json(),
            metrics=self.metrics | self._counters,
            state=state,
            environment=self.drill.spec.environment_json,
            algorithm=self.algorithm,
            algorithm_settings=self.algorithm_settings,
            stands_in=bool(self.job.get("stands_in")),
            network=self.spec.own,
        )

    def _finite(self, state: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """What games, or a companion, go on with; nothing where a number of it is not finite, since no file holds that:
        what was learned is saved all the same.
        """
        state = _arrays(state)
        broken = [name for name, row in state.items() if row.dtype.kind == "f" and not np.isfinite(row).all()]
        if not broken:
            return state
        self.warn(
            f"{broken[0]} has numbers that are not finite, so it is not saved, nor what belongs to it: check the "
            "rewards and observations"
        )
        return {}

    def _within(self, played: Mapping[str, np.ndarray], learned: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """What games go on with; nothing where a file has no room for it beside what was learned, as for a large
        replay.
        """
        nbytes = sum(row.nbytes for row in (*played.values(), *learned.values())) + 4 * self.spec.floats
        if nbytes <= checkpoint.MOST_TENSOR_BYTES:
            return played
        most = checkpoint.MOST_TENSOR_BYTES >> 20
        self.warn(
            f"the games and the replay are not saved, since a policy file holds {most} MB, and with them it would have "
            f"{nbytes >> 20}: a run from it begins new ones, or lower the replay's size"
        )
        return {}

    def _resume(self) -> None:
        """Load the newest published weights, and what else a run has from its file. A learner that died has published
        more than it saved: then the file is of another version, and the optimiser begins with fresh moments. Where the
        policy is more than its network, both are of one version (training/run/state.py, `put_down`).
        """
        published = self.publisher.latest()
        saved = checkpoint.load(self.job["resume"]) if self.job.get("resume") else None
        if saved is not None and published is not None and saved.stands_in and saved.version != published[0]:
            raise checkpoint.CheckpointError(
                f"its run cannot be continued: it is at version {published[0]}, and its file at {saved.version}"
            )
        if saved is not None and (published is None or saved.version == published[0]):
            published, state = (saved.version, saved.step, saved.weights), saved.state
        elif published is None:
            return
        else:
            if saved is not None and (saved.layers, saved.activation) != (self.spec.layers, self.spec.activation):
                saved = None
            state = {} if saved is None else saved_state.with_fresh_moments(saved.state)
            rest = "" if saved is None else f"; the rest is from the file of version {saved.version}"
            self.warn(f"continuing from version {published[0]} with a fresh optimiser{rest}")
        version, self.agent_steps, weights = published
        self.learner.load(weights)
        if saved is None:
            return
        try:
            self._restore(saved, state)
        except checkpoint.CheckpointError:
            raise
        except Exception as error:  # a file's values, and whatever an algorithm raises for them
            if saved.stands_in:  # what it plays with is not in the weights
                raise checkpoint.CheckpointError(f"its run cannot be continued: {reason_of(error)}") from error
            self.learner.load(weights)
            self.warn(f"continuing from the weights of version {version} alone: {reason_of(error)}")
        if saved.version == version:
            self._in_files = self._counts

    def _restore(self, saved: checkpoint.Checkpoint, state: Mapping[str, np.ndarray]) -> None:
        """All that a file holds beside the weights. The kernel's own counts may be ahead of it."""
        self.learner.restore(state)
        self.source.restore(state)
        for companion in self.companions:
            companion.restore(state)
        self._tell_if_rewards_changed(saved.config.get("reward_weights", {}))
        self.seconds = max(self.seconds, float(saved.metrics.get("seconds", 0.0)))
        self.updates = max(self.updates, int(state.get("train.updates", saved.metrics.get("updates", 0))))
        self.rate = float(state.get("train.rate", 1.0))
        self.good = int(state.get("train.good", 0))


def _arrays(state: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The same as arrays: an algorithm of a person's own may have other numbers."""
    return {name: np.asarray(row) for name, row in state.items()}
