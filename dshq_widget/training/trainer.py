"""The kernel's end of training: starts, steers and watches one learner process, and never blocks for it.

User calls change a few fields under a lock or send the learner a message; what the learner says arrives on the
supervisor's thread. What is known of training lies beside: how it stands (standing.py), the newest policy
(published.py), the settings (run_config.py), the files (run_files.py). keeper.py keeps the processes; only the learner
imports torch.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshq_widget import algorithms, drills
from dshq_widget.contract import presets, settings
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill, compile_drill
from dshq_widget.drill.declaration import Drill
from dshq_widget.gyms.environment import Environment, is_named
from dshq_widget.learning.scenes import Scenes
from dshq_widget.policy import checkpoint, compatibility
from dshq_widget.training.goals import Goals, wait_for
from dshq_widget.training.history import Progress
from dshq_widget.training.latest_policy import LatestPolicy, PolicyVersion
from dshq_widget.training.run_config import RunConfig
from dshq_widget.training.run_control import STOP_SECONDS, RunControl
from dshq_widget.training.run_files import RunFiles
from dshq_widget.training.run_state import RunState
from dshq_widget.training.status import RUNNING, TrainingStatus

if TYPE_CHECKING:
    from dshq_widget.algorithms.algorithm import Processes
    from dshq_widget.runtime.supervisor import Exit


class Trainer:
    """Trains a drill in the background.

    `drill` is a name, a Drill subclass, a CompiledDrill or a `.dshq` path; with a path, or with `resume=path` for a
    drill of your own, training goes on from that file. Hyper-parameters are keywords (docs/contract.md); those of a
    `preset` (presets.py) stand below them. `log_dir` is a folder for metrics as CSV and TensorBoard files and for the
    autosave; else that lies in a folder below `keep_in` that outlives the kernel (runs.py), or in a temporary one.
    `algorithm` is the name of one (algorithms/). Raises ConfigError, CheckpointError, ValueError for an algorithm that
    is not known, OSError for such a folder, or the drill's own error before anything is started.
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
        algorithm: str = "ppo",
        **hyper: Any,
    ) -> None:
        if resume is None and (isinstance(drill, os.PathLike) or (isinstance(drill, str) and drill.endswith(".dshq"))):
            resume = drill
        saved = None if resume is None else checkpoint.load(resume)
        if saved is not None and drill is resume:
            path = os.fspath(resume)
            drill = compatibility.known_drill(saved, path, f"pass its class, and the file as resume={path!r}")
        self.drill = _compiled(drill)
        self._gentle = gentle
        self._algorithm = algorithms.get(algorithm)
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._listeners: list[Callable[[], None]] = []
        self._status = TrainingStatus(self.drill.spec["name"])
        self._files = RunFiles(self.drill.name, log_dir, keep_in, self._status.warn)
        self._scenes = Scenes(self.drill.spec)
        self._config = RunConfig(self.drill, None if saved is None else compatibility.settings_of(saved))
        if preset is not None:
            self._config.change(presets.values(preset, settings.of_drill(self.drill.spec)))
            self._config.named = set(presets.PRESETS[preset].hyper)  # what it leaves as it is may yet be fitted
        self._config.change(hyper)
        self._latest = LatestPolicy(self._config.untrained())
        self._control = RunControl(self._status, self._latest, self._start_processes)
        self._state = RunState(self.drill, self._config, self._latest, self._status, self._scenes, self._files)
        self._arriving: tuple[checkpoint.Checkpoint, str] | None = None
        self._closed = False
        if saved is not None:
            self._state.adopt(saved, Path(os.fspath(resume or "")).expanduser())

    # ---- what a user reads

    @property
    def status(self) -> str:
        """idle, starting, training, stopping, stopped or error."""
        return self._status.status

    @property
    def status_text(self) -> str:
        """What is going on, as a sentence."""
        return self._status.text

    @property
    def error(self) -> str:
        """What went wrong, as a sentence; empty when nothing did."""
        return self._status.error

    @property
    def config(self) -> TrainConfig:
        """The settings as they stand."""
        return self._config.values

    @property
    def device(self) -> str:
        """What the learner computes on, cpu or cuda; empty before it has said so."""
        return self._status.device

    @property
    def workers(self) -> int:
        """Rollout processes that the learner uses."""
        return self._status.workers

    @property
    def tuning(self) -> dict[str, Any]:
        """What was chosen for this machine and `why`: `processors`, `memory_gb`, `workers`, `threads`, `num_envs`,
        `rollout_length`, `minibatch_size` and the measured `rates` (agent steps/s). Empty before the first training.
        """
        return dict(self._status.tuning)

    @property
    def paused(self) -> bool:
        """Whether a learner runs and holds between two updates."""
        return self._status.paused

    @property
    def metrics(self) -> dict[str, float | int]:
        """The newest metrics by flat name (docs/contract.md); a copy."""
        with self._lock:
            return dict(self._status.metrics)

    @property
    def history(self) -> list[dict[str, float | int]]:
        """All metrics since the last reset, oldest first, thinned when there are very many."""
        return self._status.history.rows()

    @property
    def league(self) -> list[dict[str, Any]]:
        """The self-play league's cross table, strongest first: plain rows; do not change them.

        Each has `name`, `elo` with its 95 % band `elo_low` to `elo_high`, `pinned`, and `against`: points and matches
        by the name of each player it met; a snapshot also has `version`, `step`, `share` (points per match against the
        pinned), `win_rate` (the learner's against it, smoothed), `hyper` and `champion`. Empty before the first round.
        """
        return self._status.league

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
            return self._latest.newest()

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
            self._control.start(until_solved=until_solved)
        self._notify()

    def pause_training(self) -> None:
        """Hold after the update that is being made; returns at once. The learner stays ready.

        Raises RuntimeError when nothing is training.
        """
        self._tell("PAUSE_TRAINING", held=True)

    def resume_training(self) -> None:
        """Learn on after a pause; returns at once. Raises RuntimeError when nothing is training."""
        self._tell("RESUME_TRAINING", held=False)

    def next_update(self, **hyper: Any) -> None:
        """Play one round of games, learn from it once, then hold; returns at once. Called twice it does so twice.

        Where nothing is training it starts a learner that makes this one update. Hyper-parameters given are set first.
        """
        with self._lock:
            self._check_open()
            self.set_hyper(**hyper)
            self._control.next_update()
        self._notify()

    def _tell(self, message: str, held: bool) -> None:
        with self._lock:
            self._check_open()
            self._control.tell(message, held)
        self._notify()

    def stop(self) -> None:
        """Stop training; returns at once. The policy stays, and `start` goes on from it."""
        with self._lock:
            self._control.stop(self._files.autosave)
        self._notify()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until no learner runs; False when one still does after `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._control.processes is None, timeout)

    def reset_training(self) -> None:
        """Forget everything learned: stop, and go back to the untrained version 0 of the same seed."""
        with self._lock:
            self._check_open()
            self._arriving = None
            self._control.abandon()
            self._state.forget()
            self._status.set("idle", "not started")
        self._notify()

    def set_hyper(self, **values: Any) -> None:
        """Change hyper-parameters, also while training; raises ConfigError and changes nothing when one is wrong.

        Each takes effect as its label says: now, at the next update, or at the next start.
        """
        if not values:
            return
        with self._lock:
            self._check_open()
            before = self.config.to_json()
            self._config.change(values)
            after = self.config.to_json()
            changed = {key: after[key] for key in before if before[key] != after[key]}
            waiting = [key for key in changed if settings.FIELDS[key]["effect"] == settings.RESTART]
            for key, value in changed.items():
                if key not in waiting:
                    self._control.send({"type": "SET_HYPER", "key": key, "value": value})
            if self._control.processes is not None and waiting:
                self._status.text = f"{', '.join(waiting)} will change at the next start"
            elif self._control.processes is None and self.version == 0:
                self._files.resume = None
                self._latest.replace(self._config.untrained())
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
        self._control.send({"type": "SCENES", "scenes": self._scenes.packed()})

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
        if self.status in ("idle", "stopped"):
            raise RuntimeError("nothing is training, so there is nothing to wait for: call train() or start() first")
        return wait_for(goals, self._status, self._changed, Progress(enabled=progress))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the policy to a `.dshq` file and return its absolute path; raises CheckpointError.

        While training, the learner writes it between two updates, with all that an exact continuation needs.
        """
        target = str(Path(os.path.abspath(os.path.expanduser(path))))
        with self._changed:
            asked = self.status == "training" and os.path.isdir(os.path.dirname(target))
            processes, awaited = self._control.processes if asked else None, self._files.awaited
            if processes is not None:
                awaited[target] = False
                processes.send({"type": "SAVE", "path": target})
                self._changed.wait_for(
                    lambda: awaited[target] or self._control.processes is not processes, STOP_SECONDS
                )
                if awaited.pop(target):
                    return Path(target)
        newest = self.latest_policy()
        return checkpoint.save(target, self._state.checkpoint(newest, self._files.state_of(newest)))

    def autosave(self) -> None:
        """Have the learner, where one trains, write the autosave soon; returns at once."""
        with self._lock:
            if self.status == "training":
                self._control.send({"type": "SAVE", "path": str(self._files.autosave())})

    def policy_file(self) -> bytes:
        """The newest policy, without the optimiser's state, as the bytes of a `.dshq` file. Never waits."""
        return checkpoint.encode(self._state.checkpoint(self.latest_policy(), {}))

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
            compatibility.shape_of(saved, name, self.drill.spec)
            if self._control.processes is None:
                self._state.replace(saved, name)
            else:
                self._arriving = saved, name
                self.stop()
                self._status.text = f"stopping after this update and saving, then {name} plays"
        self._notify()

    def go_on_from(self, path: str | os.PathLike[str]) -> None:
        """Take over the run saved in a `.dshq` file with its settings, as `resume=` does from the beginning; the next
        start goes on from it. Raises CheckpointError, and RuntimeError while something trains; then nothing changes.
        """
        with self._lock:
            self._check_open()
            if self._control.processes is not None:
                raise RuntimeError("something trains already: call stop() first, then go on with the other run")
            saved = checkpoint.load(path)
            compatibility.shape_of(saved, os.path.basename(os.fspath(path)), self.drill.spec)
            self._config.values = compatibility.settings_of(saved)
            self._state.forget()
            self._state.adopt(saved, Path(os.fspath(path)).expanduser())
            self._status.set("stopped", f"at version {saved.version} of the run saved before")
        self._notify()

    def close(self) -> None:
        """End training and give everything back; closing twice is fine. The policy can still be read and saved."""
        with self._lock:
            if self._closed:
                return
            self._control.abandon()
            self.latest_policy()
            self._latest.release()
            if self.status in RUNNING:
                self._status.set("stopped", "closed")
            self._closed = True
            self._files.close()
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
        self._status.warned.append(listener)

    # ---- the learner process

    def _start_processes(self, orders: Mapping[str, Any]) -> Processes:
        """A run's processes on the newest policy, or on an untrained one where the settings ask for another network."""
        if not self.version and isinstance(self.drill, CompiledDrill):  # what has begun to learn goes on as it was
            self._config.fit(self._gentle)
        newest, network = self.latest_policy(), self._config.network()
        wanted = (network.layers, network.activation)
        if (newest.layers, newest.activation) != wanted or not network.fits(newest.weights):
            self._state.forget()
        job = {
            **orders,
            "resume": self._files.to_resume(),
            "autosave": str(self._files.autosave()),
            "updates": self._status.metrics.get("updates", 0),
            "gentle": self._gentle,
            "log_dir": str(self._files.log_dir) if self._files.log_dir else None,
            "scenes": self._scenes.packed(),
        }
        memory = self._latest.memory()
        return self._algorithm.start(self.drill, self.config, memory, job, self._on_message, self._on_exit)

    def _on_message(self, processes: Processes, message: Mapping[str, Any]) -> None:
        with self._lock:
            if processes is not self._control.processes:
                return
            if message["type"] == "SCENES":
                self._scenes.measured(message["rows"])
            elif message["type"] == "CHECKPOINT":
                self._files.written(message["path"])
            else:
                self._status.hear(message)
        self._notify()

    def _on_exit(self, processes: Processes, end: Exit) -> None:
        with self._lock:
            if processes is not self._control.processes:
                return
            self._control.over(end)
            if self.status == "stopped":
                if self._arriving:
                    arrived, self._arriving = self._arriving, None
                    self._state.replace(*arrived)
                self._control.start_again()
        self._notify()

    # ---- small things

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
        from dshq_widget.gyms.making import described  # gymnasium comes with it

        return described(drill)
    if isinstance(drill, str):
        drill = drills.get(drill)
    if not (isinstance(drill, type) and issubclass(drill, Drill)):
        raise TypeError(f"a drill must be a name, a Drill subclass or a .dshq path, got {drill!r:.60}")
    return compile_drill(drill)  # type: ignore[arg-type]  # mypy doubts that classes can be hashed
