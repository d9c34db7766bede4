"""The kernel's end of training: starts, steers and watches one learner process, and never blocks for it.

User calls change a few fields under a lock or send the learner a message; what the learner says arrives on the
supervisor's thread. torch is imported in the learner only.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dshq_widget import config as settings
from dshq_widget import drills, policy, presets, protocol
from dshq_widget.config import TrainConfig
from dshq_widget.drill import CompiledDrill, Drill, compile_drill
from dshq_widget.gyms.environment import Environment, is_named
from dshq_widget.training import checkpoint, fitting
from dshq_widget.training.goals import Goals
from dshq_widget.training.scenes import Scenes
from dshq_widget.training.telemetry import History, Progress, clean

if TYPE_CHECKING:
    from dshq_widget.runtime.memory import SharedBlock
    from dshq_widget.runtime.scratch import Scratch
    from dshq_widget.runtime.slots import WeightSlots
    from dshq_widget.runtime.supervisor import Exit
    from dshq_widget.training.crew import Crew
    from dshq_widget.training.runs import Run

STOP_SECONDS, ABANDON_SECONDS = 10.0, 2.0
"""How long a learner may take to finish its update and save, or to end when nothing of it is wanted any more."""
WARNING_SECONDS = 10.0
"""How long a warning stands in the status line."""
PAUSED_TEXT = "learning is paused and the match goes on; Next update learns once, Resume learning goes on"
MAX_DEATHS = 3
"""Learners that die one after the other without a new version before training gives up."""
AUTOSAVE_NAME, LOADED_NAME, REPLACED_NAME = "autosave.dshq", "loaded.dshq", "replaced.dshq"
RUNNING = ("starting", "training", "stopping")

log = logging.getLogger("dshq_widget")


@dataclasses.dataclass(frozen=True)
class PolicyVersion:
    """One published policy: `weights` is its blob, f32 `[blob_floats(layers)]`, read-only."""

    version: int
    step: int
    """Agent steps that it was trained for."""
    layers: tuple[int, ...]
    activation: str
    weights: np.ndarray


class Trainer:
    """Trains a drill in the background.

    `drill` is a name, a Drill subclass, a CompiledDrill or a `.dshq` path; with a path, or with `resume=path` for a
    drill of your own, training goes on from that file. Hyper-parameters are keywords (docs/contract.md); those of a
    `preset` (presets.py) stand below them. `log_dir` is a
    folder for metrics as CSV and TensorBoard files and for the autosave; else that lies in a folder below `keep_in`
    that outlives the kernel (runs.py), or in a temporary one. Raises ConfigError,
    CheckpointError, OSError for such a folder, or the drill's own error before anything is started.
    """

    def __init__(
        self,
        drill: str | os.PathLike[str] | type[Drill] | CompiledDrill = "ball",
        *,
        resume: str | os.PathLike[str] | None = None,
        log_dir: str | os.PathLike[str] | None = None,
        keep_in: Path | None = None,
        preset: str | None = None,
        gentle: bool = False,
        **hyper: Any,
    ) -> None:
        if resume is None and (isinstance(drill, os.PathLike) or (isinstance(drill, str) and drill.endswith(".dshq"))):
            resume = drill
        saved = None if resume is None else checkpoint.load(resume)
        self.drill = _compiled(saved.drill if saved is not None and drill is resume else drill)
        self._gentle = gentle
        self._log_dir = None if log_dir is None else Path(os.path.abspath(os.path.expanduser(log_dir)))
        if self._log_dir:
            self._log_dir.mkdir(parents=True, exist_ok=True)
        self._keep_in = keep_in
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._listeners: list[Callable[[], None]] = []
        self._warned: list[Callable[[str], None]] = []
        self._given: set[str] = set()
        self._config = settings.of_drill(self.drill.spec) if saved is None else fitting.settings_of(saved)
        self._status, self._status_text, self._error = "idle", "not started", ""
        self._metrics: dict[str, float | int] = {}
        self._league: list[dict[str, Any]] = []
        self._scenes = Scenes(self.drill.spec)
        self._history = History()
        self._crew: Crew | None = None
        self._block: SharedBlock | None = None
        self._slots: WeightSlots | None = None
        self._resume: str | None = None
        self._saves: dict[str, bool] = {}
        self._start_again = self._closed = self._until_solved = False
        self._arriving: tuple[checkpoint.Checkpoint, str] | None = None
        self._deaths = self._started_from = self._asked = 0
        self._paused = False
        self._device, self._workers = "", 0
        self._tuning: dict[str, Any] = {}
        self._phase_text, self._warned_at = "", 0.0
        self._folder: Run | Scratch | None = None
        if preset is not None:
            self._configure(presets.values(preset, settings.of_drill(self.drill.spec)))
            self._given = set(presets.PRESETS[preset].hyper)  # what it leaves as it is may yet be fitted to the machine
        self._configure(hyper)
        self._policy = self._untrained()
        if saved is not None:
            self._adopt(saved, Path(os.fspath(resume or "")).expanduser())

    # ---- what a user reads

    @property
    def status(self) -> str:
        """idle, starting, training, stopping, stopped or error."""
        return self._status

    @property
    def status_text(self) -> str:
        """What is going on, as a sentence."""
        return self._status_text

    @property
    def error(self) -> str:
        """What went wrong, as a sentence; empty when nothing did."""
        return self._error

    @property
    def config(self) -> TrainConfig:
        """The settings as they stand."""
        return self._config

    @property
    def device(self) -> str:
        """What the learner computes on, cpu or cuda; empty before it has said so."""
        return self._device

    @property
    def workers(self) -> int:
        """Rollout processes that the learner uses."""
        return self._workers

    @property
    def tuning(self) -> dict[str, Any]:
        """What was chosen for this machine and `why`: `processors`, `memory_gb`, `workers`, `threads`, `num_envs`,
        `rollout_length`, `minibatch_size` and the measured `rates` (agent steps/s). Empty before the first training.
        """
        return dict(self._tuning)

    @property
    def paused(self) -> bool:
        """Whether a learner runs and holds between two updates."""
        return self._paused and self._status in ("starting", "training")

    @property
    def metrics(self) -> dict[str, float | int]:
        """The newest metrics by flat name (docs/contract.md); a copy."""
        with self._lock:
            return dict(self._metrics)

    @property
    def history(self) -> list[dict[str, float | int]]:
        """All metrics since the last reset, oldest first, thinned when there are very many."""
        return self._history.rows()

    @property
    def league(self) -> list[dict[str, Any]]:
        """The self-play league's cross table, strongest first: plain rows; do not change them.

        Each has `name`, `elo` with its 95 % band `elo_low` to `elo_high`, `pinned`, and `against`: points and matches
        by the name of each player it met; a snapshot also has `version`, `step`, `share` (points per match against the
        pinned), `win_rate` (the learner's against it, smoothed), `hyper` and `champion`. Empty before the first round.
        """
        return self._league

    @property
    def scenes(self) -> list[dict[str, Any]]:
        """The scenes from which a share of the practice games begins (setting `scene_share`): plain rows.

        Each has `key`, `places` (x, y of what can be dragged, in world units), and `before` and `now`: `share` of 128
        games against the first baseline that side 0 wins from there, and the `version` that played; None until then.
        """
        with self._lock:
            return self._scenes.rows()

    def history_frame(self) -> Any:
        """The history as a pandas DataFrame; raises ImportError with advice where pandas is not installed."""
        try:
            import pandas
        except ImportError as error:
            raise ImportError(
                "history_frame() needs pandas: pip install pandas, or use .history, a list of dicts"
            ) from error
        return pandas.DataFrame(self.history)

    @property
    def version(self) -> int:
        """The newest policy version; 0 is untrained."""
        return self.latest_policy().version

    def latest_policy(self) -> PolicyVersion:
        """The newest complete policy. Never waits for the learner."""
        with self._lock:
            if self._slots is not None:
                found = self._slots.read(self._policy.version)
                if found is not None:
                    version, step, weights = found
                    weights.setflags(write=False)
                    self._policy = dataclasses.replace(self._policy, version=version, step=step, weights=weights)
            return self._policy

    # ---- what a user does

    def start(self, *, until_solved: bool = False, **hyper: Any) -> None:
        """Start training, or go on after a stop with the same policy; returns at once.

        Learning that was paused goes on. With `until_solved` training ends by itself, with the policy that an
        evaluation found to reach the drill's target; raises ValueError for a drill that has none. Hyper-parameters
        given here are set first. Another network (`hidden_sizes`, `activation`) starts from version 0.
        """
        with self._lock:
            self._check_open()
            if until_solved and self.drill.spec.get("target") is None:
                raise ValueError(f"until_solved: {self.drill.name!r} has no target; drills of one side may declare one")
            self.set_hyper(**hyper)
            self._until_solved = until_solved
            if self.paused:
                self.resume_training()
            self._set_going(paused=False)
        self._notify()

    def pause_training(self) -> None:
        """Hold after the update that is being made; returns at once. The learner stays ready.

        Raises RuntimeError when nothing is training.
        """
        self._tell_running("PAUSE_TRAINING", paused=True)

    def resume_training(self) -> None:
        """Learn on after a pause; returns at once. Raises RuntimeError when nothing is training."""
        self._tell_running("RESUME_TRAINING", paused=False)

    def next_update(self, **hyper: Any) -> None:
        """Play one round of games, learn from it once, then hold; returns at once. Called twice it does so twice.

        Where nothing is training it starts a learner that makes this one update. Hyper-parameters given are set first.
        """
        with self._lock:
            self._check_open()
            self.set_hyper(**hyper)
            if self._status in ("starting", "training"):
                self._tell_running("NEXT_UPDATE", paused=True)
            else:
                self._until_solved = False
                self._asked += 1
                self._set_going(paused=True)
        self._notify()

    def _set_going(self, paused: bool) -> None:
        """Let a learner run, after the one that is stopping where there is one."""
        self._paused = paused
        if self._status == "stopping":
            self._start_again = True
        elif self._status not in RUNNING:
            self._deaths = 0
            self._spawn()

    def _tell_running(self, message: str, paused: bool) -> None:
        with self._lock:
            self._check_open()
            if self._status not in ("starting", "training") or self._crew is None:
                raise RuntimeError("nothing is training, so there is nothing to hold: call train() or start() first")
            self._paused = paused
            self._crew.send({"type": message})
            if self._status == "training":
                self._status_text = self._quiet_text()
        self._notify()

    def _quiet_text(self) -> str:
        """The status line of training while nothing more important is to be said."""
        return PAUSED_TEXT if self._paused else self._phase_text

    def stop(self) -> None:
        """Stop training; returns at once. The policy stays, and `start` goes on from it."""
        with self._lock:
            self._start_again = self._paused = False
            self._asked = 0
            if self._status in ("starting", "training") and self._crew is not None:
                patience = STOP_SECONDS if self._status == "training" else ABANDON_SECONDS
                self._set_status("stopping", "finishing the update and saving")
                self._crew.send({"type": "SAVE", "path": str(self._autosave_path())})
                self._crew.stop(patience)
        self._notify()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until no learner runs; False when one still does after `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._crew is None, timeout)

    def reset_training(self) -> None:
        """Forget everything learned: stop, and go back to the untrained version 0 of the same seed."""
        with self._lock:
            self._check_open()
            self._asked = 0
            self._start_again, self._arriving = False, None
            self._abandon()
            self._forget()
            self._set_status("idle", "not started")
        self._notify()

    def set_hyper(self, **values: Any) -> None:
        """Change hyper-parameters, also while training; raises ConfigError and changes nothing when one is wrong.

        Each takes effect as its label says: now, at the next update, or at the next start.
        """
        if not values:
            return
        with self._lock:
            self._check_open()
            before = self._config
            self._configure(values)
            after = self._config.to_json()
            changed = [key for key, value in before.to_json().items() if value != after[key]]
            for key in changed:
                if settings.FIELDS[key]["effect"] != settings.RESTART and self._crew is not None:
                    self._crew.send({"type": "SET_HYPER", "key": key, "value": after[key]})
            waiting = [key for key in changed if settings.FIELDS[key]["effect"] == settings.RESTART]
            if self._crew is not None and waiting:
                self._status_text = f"{', '.join(waiting)} will change at the next start"
            elif self._crew is None and self._policy.version == 0:
                self._policy = self._untrained()
        self._notify()

    def add_scene(self, state: bytes) -> str:
        """Let a share of the practice games begin from `state`, a game's state block; its generator and clock do not
        count. Returns the scene's key; raises ValueError for what is no state, or when there are eight already.
        """
        with self._lock:
            self._check_open()
            key = self._scenes.add(state)
            self._tell_scenes()
        self._notify()
        return key

    def remove_scene(self, key: str) -> None:
        """Practise this one no more; raises ValueError for a key that is not there."""
        with self._lock:
            self._scenes.remove(key)
            self._tell_scenes()
        self._notify()

    def clear_scenes(self) -> None:
        """Practise from the drill's own starts only."""
        with self._lock:
            self._scenes.clear()
            self._tell_scenes()
        self._notify()

    def _tell_scenes(self) -> None:
        if self._crew is not None:
            self._crew.send({"type": "SCENES", "scenes": self._scenes.packed()})

    def wait(
        self,
        *,
        seconds: float | None = None,
        updates: int | None = None,
        win_rate: float | None = None,
        return_mean: float | None = None,
        progress: bool = True,
    ) -> bool:
        """Block until training has run for `seconds`, made `updates` in all, wins `win_rate` against its script, or, in
        a drill of one side, has a mean return of `return_mean` over the evaluator's 100 episodes.

        True when that is reached; False when training ended before, or at Ctrl-C, which ends the waiting and not the
        training. Seconds count from status `training`, so `seconds=0` waits for the start-up. Raises RuntimeError when
        training failed or nobody started it.
        """
        goals = Goals(self.drill.spec, seconds, updates, win_rate, return_mean)
        if self._status in ("idle", "stopped"):
            raise RuntimeError("nothing is training, so there is nothing to wait for: call train() or start() first")
        bar = Progress(enabled=progress)
        began = None
        try:
            while True:
                if self._status == "error":
                    raise RuntimeError(self._error)
                if began is None and self._status == "training":
                    began = time.monotonic()
                done = goals.share(self._metrics, None if began is None else time.monotonic() - began)
                bar.show(done, f"{self._status}: {self._status_text}")
                if done >= 1 or self._status in ("idle", "stopped"):
                    return done >= 1
                with self._changed:
                    self._changed.wait(0.1)
        except KeyboardInterrupt:
            bar.note("stopped waiting; training goes on")
            return False
        finally:
            bar.close()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the policy to a `.dshq` file and return its absolute path; raises CheckpointError.

        While training, the learner writes it between two updates, with all that an exact continuation needs.
        """
        target = str(Path(os.path.abspath(os.path.expanduser(path))))
        with self._changed:
            asked = self._status == "training" and os.path.isdir(os.path.dirname(target))
            crew = self._crew if asked else None
            if crew is not None:
                self._saves[target] = False
                crew.send({"type": "SAVE", "path": target})
                self._changed.wait_for(lambda: self._saves[target] or self._crew is not crew, STOP_SECONDS)
                if self._saves.pop(target):
                    return Path(target)
        return checkpoint.save(target, self._as_checkpoint())

    def autosave(self) -> None:
        """Have the learner, where one trains, write the autosave soon; returns at once."""
        with self._lock:
            if self._status == "training" and self._crew is not None:
                self._crew.send({"type": "SAVE", "path": str(self._autosave_path())})

    def policy_file(self) -> bytes:
        """The newest policy, without the optimiser's state, as the bytes of a `.dshq` file. Never waits."""
        return checkpoint.encode(self._as_checkpoint({}))

    def load(self, path: str | os.PathLike[str]) -> None:
        """Take over the policy of a `.dshq` file; raises CheckpointError and changes nothing where it does not fit."""
        self.take_over(checkpoint.load(path), os.path.basename(os.fspath(path)))

    def take_over(self, saved: checkpoint.Checkpoint, name: str) -> None:
        """Take over the policy of a checkpoint called `name`; the next start goes on from it. Returns at once.

        Of its settings only the network's shape is taken. Training that runs is stopped and saved first, and what it
        had learned is kept beside the autosave. Raises CheckpointError and changes nothing where it does not fit.
        """
        with self._lock:
            self._check_open()
            fitting.shape_of(saved, name, self.drill.spec)
            if self._crew is None:
                self._replace_policy(saved, name)
            else:
                self._arriving = saved, name
                self.stop()
                self._status_text = f"finishing the update and saving, then {name} plays"
        self._notify()

    def go_on_from(self, path: str | os.PathLike[str]) -> None:
        """Take over the run saved in a `.dshq` file with its settings, as `resume=` does from the beginning; the next
        start goes on from it. Raises CheckpointError, and RuntimeError while something trains; then nothing changes.
        """
        with self._lock:
            self._check_open()
            if self._crew is not None:
                raise RuntimeError("something trains already: call stop() first, then go on with the other run")
            saved = checkpoint.load(path)
            fitting.shape_of(saved, os.path.basename(os.fspath(path)), self.drill.spec)
            self._config = fitting.settings_of(saved)
            self._forget()
            self._adopt(saved, Path(os.fspath(path)).expanduser())
            self._set_status("stopped", f"at version {saved.version} of the run saved before")
        self._notify()

    def close(self) -> None:
        """End training and give everything back; closing twice is fine. The policy can still be read and saved."""
        with self._lock:
            if self._closed:
                return
            self._abandon()
            self.latest_policy()
            self._release()
            if self._status in RUNNING:
                self._set_status("stopped", "closed")
            self._closed = True
            if self._folder is not None:
                self._folder.close()
        self._notify()

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener`, from any thread, whenever something to read has changed. It must return at once."""
        self._listeners.append(listener)

    def on_warning(self, listener: Callable[[str], None]) -> None:
        """Call `listener`, from any thread, with the sentence of each warning. It must return at once."""
        self._warned.append(listener)

    # ---- settings and policies

    def _configure(self, hyper: Mapping[str, Any]) -> None:
        """Override the settings, checked against the drill; all or nothing."""
        given = self._given | set(settings.canonical(hyper, self._config))
        config = self._config.replace(hyper)
        spec = self.drill.spec
        terms = [term["name"] for term in spec["terms"]]
        config = settings.for_drill(config, given, spec["baselines"], terms, spec["sides"])
        if isinstance(self.drill, Environment):
            self.drill.actions.check(config.action_distribution)
        self._config = config
        self._given = given

    def _network(self) -> policy.PolicySpec:
        return policy.PolicySpec.for_config(self.drill.spec, self._config)

    def _untrained(self) -> PolicyVersion:
        network = self._network()
        weights = network.untrained(self._config.seed)
        weights.setflags(write=False)
        return PolicyVersion(0, 0, network.layers, network.activation, weights)

    def _adopt(self, saved: checkpoint.Checkpoint, path: Path) -> None:
        """Go on from a file; raises CheckpointError where it does not fit the drill."""
        spec = self.drill.spec
        fitting.check_layers(saved, path.name, spec, self._network().layers)
        if saved.rules_hash != spec["rules_hash"]:
            log.warning("%s was trained under other rules of %s; it plays, but may play worse", path.name, spec["name"])
        self._policy = PolicyVersion(saved.version, saved.step, saved.layers, saved.activation, saved.weights)
        self._metrics = clean(saved.metrics)
        self._resume = str(path.resolve())
        self._status_text = f"loaded {path.name}"
        if saved.rules_hash == spec["rules_hash"]:
            try:
                self._scenes.restore(saved.state)
            except ValueError as error:
                raise checkpoint.CheckpointError(f"the scenes in {path.name!r} cannot be used: {error}") from None

    def _replace_policy(self, saved: checkpoint.Checkpoint, name: str) -> None:
        """Put a checkpoint that fits in place of everything learned so far, which is kept in a file of its own."""
        autosave = self._autosave_path()
        kept = ""
        if self._resume == str(autosave) and autosave.exists():
            os.replace(autosave, autosave.with_name(REPLACED_NAME))
            kept = f"; what was trained before is kept in {autosave.with_name(REPLACED_NAME)}"
        self._configure(fitting.shape_of(saved, name, self.drill.spec))
        self._forget()
        self._adopt(saved, checkpoint.save(autosave.with_name(LOADED_NAME), saved))
        self._set_status("stopped", f"playing {name}, version {saved.version}{kept}")

    def _as_checkpoint(self, state: dict[str, np.ndarray] | None = None) -> checkpoint.Checkpoint:
        """The newest policy with the given optimiser's state, else with that of a file of the same version."""
        newest, spec = self.latest_policy(), self.drill.spec
        if state is None and self._resume and os.path.exists(self._resume):
            last = checkpoint.load(self._resume)
            if (last.version, last.layers, last.activation) == (newest.version, newest.layers, newest.activation):
                state = last.state
        return checkpoint.Checkpoint(
            spec["name"],
            spec["rules_hash"],
            newest.layers,
            newest.activation,
            newest.weights,
            newest.version,
            newest.step,
            self._config.seed,
            self._config.to_json(),
            self.metrics,
            self._scenes.put_into(state or {}),
            spec.get("environment", {}),
        )

    # ---- the learner process

    def _spawn(self) -> None:
        """Start a crew on the newest policy. The caller holds the lock, so its first message waits for this."""
        from dshq_widget.runtime.memory import SharedBlock  # numba comes with these; keep it out of the import
        from dshq_widget.runtime.slots import WeightSlots
        from dshq_widget.training import tuning
        from dshq_widget.training.crew import Crew
        from dshq_widget.training.gym_crew import GymCrew

        newest, foreign = self.latest_policy(), isinstance(self.drill, Environment)
        if not newest.version and not foreign:  # what has begun to learn goes on as it was
            self._config = tuning.fitted(self._config, self.drill.spec, self._given, tuning.Machine.this(self._gentle))
        network = self._network()
        if (newest.layers, newest.activation) != (network.layers, network.activation) or not network.fits(
            newest.weights
        ):
            self._forget()
            newest = self._policy
        self._error = ""
        self._started_from = newest.version
        self._set_status("starting", "starting the learner")
        floats = len(newest.weights)
        try:
            if self._block is None:
                self._block = SharedBlock.create(WeightSlots.nbytes_for(floats))
                self._slots = WeightSlots.create(self._block, floats)
                if newest.version:
                    self._slots.publish(newest.version, newest.step, newest.weights)
            job = {
                "resume": self._resume if self._resume and os.path.exists(self._resume) else None,
                "autosave": str(self._autosave_path()),
                "updates": self._metrics.get("updates", 0),
                "gentle": self._gentle,
                "log_dir": str(self._log_dir) if self._log_dir else None,
                "until_solved": self._until_solved,
                "paused": self._paused,
                "asked": self._asked,
                "scenes": self._scenes.packed(),
            }
            crew: Any = GymCrew if foreign else Crew
            self._crew = crew(self.drill, self._config, self._block, job, self._on_message, self._on_exit)
            self._asked = 0
        except MemoryError as error:
            self._fail(str(error))

    def _on_message(self, crew: Crew, message: Mapping[str, Any]) -> None:
        with self._lock:
            if crew is not self._crew:
                return
            kind = message["type"]
            if kind == "PHASE" and self._status != "stopping":
                self._phase_text = message["text"]
                self._set_status(message["phase"], message["text"])
                if message["phase"] == "training":
                    self._status_text = self._quiet_text()
                self._device = message.get("device", self._device)
                self._workers = message.get("workers", self._workers)
                self._tuning = message.get("tuning", self._tuning)
            elif kind == "METRICS":
                self._metrics = clean(message["values"])
                self._history.append(self._metrics)
                if self._status == "training" and time.monotonic() - self._warned_at > WARNING_SECONDS:
                    self._status_text = self._quiet_text()
            elif kind == "LEAGUE":
                self._league = list(message["rows"])
            elif kind == "SCENES":
                self._scenes.measured(message["rows"])
            elif kind == "CHECKPOINT":
                self._saved(message["path"])
            elif kind == "WARNING":
                self._warn(message["text"])
            elif kind == "HEALTH" and message["health"] == "silent":
                self._warn("the learner has not answered for some seconds")
        self._notify()

    def _saved(self, path: str) -> None:
        """The learner has written a file: one that somebody waits for, or its own autosave."""
        if path in self._saves:
            self._saves[path] = True
        elif path == str(self._autosave_path()):
            self._resume = path

    def _on_exit(self, crew: Crew, end: Exit) -> None:
        with self._lock:
            if crew is not self._crew:
                return
            self._crew = None
            if self._status == "stopping" or end.expected:
                solved = self._until_solved and self._metrics.get("solved") == 1
                self._set_status("stopped", f"{'solved' if solved else 'stopped'} at version {self.version}")
                if self._arriving:
                    arrived, self._arriving = self._arriving, None
                    self._replace_policy(*arrived)
                if self._start_again:
                    self._start_again = False
                    self._spawn()
            else:
                self._replace(end)
        self._notify()

    def _replace(self, end: Exit) -> None:
        """A learner was lost: start another one from the last published weights, unless that leads nowhere."""
        advanced = self.version > self._started_from
        self._deaths = 1 if advanced else self._deaths + 1
        if end.traceback:
            log.warning("the learner of %s failed:\n%s", self.drill.spec["name"], end.traceback)
        if self._deaths >= MAX_DEATHS or (end.traceback and not advanced):
            self._fail(end.error)
            return
        self._spawn()
        self._warn(f"{end.error}; a new learner goes on from version {self.version}")

    def _abandon(self) -> None:
        """Let go of the crew at once: it is told to stop, and nobody listens to it any more."""
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.stop(ABANDON_SECONDS)

    def _forget(self) -> None:
        """Back to version 0, in new memory: a learner that is still ending may yet write to the old one."""
        self._release()
        self._resume, self._error = None, ""
        self._metrics, self._league = {}, []
        self._scenes.forget()
        self._history.clear()
        self._policy = self._untrained()

    def _release(self) -> None:
        if self._block is not None:
            self._block.close()
        self._block = self._slots = None

    def _autosave_path(self) -> Path:
        if self._log_dir:
            return self._log_dir / AUTOSAVE_NAME
        if self._folder is None:
            from dshq_widget.runtime.scratch import Scratch
            from dshq_widget.training.runs import Run

            try:
                self._folder = Run(self._keep_in, self.drill.name) if self._keep_in else Scratch()
            except OSError as error:
                self._warn(f"this run will end with its kernel: cannot write to {self._keep_in} ({error.strerror})")
                self._folder = Scratch()
        return self._folder.path / AUTOSAVE_NAME

    # ---- small things

    def _set_status(self, status: str, text: str) -> None:
        assert status in protocol.STATUSES, status
        self._status, self._status_text = status, text

    def _warn(self, sentence: str) -> None:
        self._status_text, self._warned_at = sentence, time.monotonic()
        for listener in list(self._warned):
            listener(sentence)
        log.warning("%s: %s", self.drill.spec["name"], sentence)

    def _fail(self, sentence: str) -> None:
        self._error = sentence
        self._set_status("error", sentence)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("this trainer is closed: make a new one, from a .dshq file if you saved it")

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()
        for listener in tuple(self._listeners):
            listener()


def _compiled(drill: str | type[Drill] | CompiledDrill | Environment | Any) -> Any:
    """Any form of a drill, compiled, or a Gymnasium environment; raises the registry's, the rules' or its own error."""
    if isinstance(drill, (CompiledDrill, Environment)):
        return drill
    if isinstance(drill, str) and is_named(drill):
        return Environment.named(drill)
    if isinstance(drill, str):
        drill = drills.get(drill)
    if not (isinstance(drill, type) and issubclass(drill, Drill)):
        raise TypeError(f"a drill must be a name, a Drill subclass or a .dshq path, got {drill!r:.60}")
    return compile_drill(drill)  # type: ignore[arg-type]  # mypy doubts that classes can be hashed
