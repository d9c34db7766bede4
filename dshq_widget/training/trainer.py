"""Training as seen from the kernel: starts, steers and watches the processes of a run without blocking.

Calls change fields under a lock or send the learner a message. Messages from the learner arrive on the supervisor's
thread. The parts are next to this file: opening.py, status.py, latest_policy.py, run/config.py, run/files.py,
run/state.py, and for the processes run/start.py and run/control.py. Only the learner imports torch.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshq_widget import algorithms
from dshq_widget.contract import settings
from dshq_widget.drill import own_reward
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.files import atomic
from dshq_widget.gyms.environment import Environment
from dshq_widget.learning.scenes.arranged import Scenes
from dshq_widget.policy import checkpoint, ladder
from dshq_widget.training.any_drill import with_rules
from dshq_widget.training.callbacks import Callbacks, Metrics
from dshq_widget.training.goals import Budget, Goals, ScheduleEnd, until_over, wait_for
from dshq_widget.training.history import Progress
from dshq_widget.training.latest_policy import LatestPolicy
from dshq_widget.training.league_policy import of_league
from dshq_widget.training.listeners import Listeners
from dshq_widget.training.opening import opened
from dshq_widget.training.readings import Readings
from dshq_widget.training.run.config import RunConfig
from dshq_widget.training.run.control import STOP_SECONDS, RunControl
from dshq_widget.training.run.files import RunFiles
from dshq_widget.training.run.start import RunStart
from dshq_widget.training.run.state import RunState
from dshq_widget.training.status import RUNNING, TrainingStatus

if TYPE_CHECKING:
    from dshq_widget.algorithms.algorithm import Algorithm, Processes, Start
    from dshq_widget.runtime.supervisor import Exit


class Trainer(Readings, Callbacks):
    """Trains a drill in the background.

    `drill` is a name, a Drill subclass, a CompiledDrill or a `.dshq` path. With a path, or with `resume=path` for a
    drill of your own, training continues from that file. Hyper-parameters are keywords (docs/reference/settings.md);
    they override those of a `preset` (presets.py). `log_dir` is a folder for metrics (CSV, and TensorBoard files where
    that is installed) and the autosave; `track` names experiment trackers (learning/telemetry/trackers.py). Without a
    folder the autosave is the file `autosave`, or lies in a folder in `keep_in` that outlives the kernel
    (saved_runs.py), or in a temporary one. `algorithm` is a name from algorithms/; by default the file's, else the one
    that the drill declares. Its own settings are given under its name (`spo={"tau": 0.05}`), or, beside those of
    other algorithms, which are ignored, in `algorithm_settings`. With the `engine` "ray" the games are played on the
    Ray cluster at `ray_address`, HOST:PORT; without an address it is the one in RAY_ADDRESS, else the one that this
    machine is a node of (docs/howto/ray.md). `start` starts the runs of an engine that whoever shows the match brings
    along (algorithms/__init__.py, `BROUGHT`). `network` is a network of your own (docs/howto/own-network.md). The first
    start or load claims `log_dir`, or `autosave`: ClaimError says that another run writes there. Before anything
    starts, raises ConfigError, CheckpointError, NetworkError, ValueError for an unknown algorithm or one that cannot
    train this drill, OSError for a folder that cannot be used, or the drill's own error.
    """

    def __init__(
        self,
        drill: str | os.PathLike[str] | type[Drill] | CompiledDrill | Environment = "ball",
        *,
        resume: str | os.PathLike[str] | None = None,
        log_dir: str | os.PathLike[str] | None = None,
        track: str = "",
        autosave: str | os.PathLike[str] | None = None,
        keep_in: Path | None = None,
        preset: str | None = None,
        gentle: bool = False,
        algorithm: str | Algorithm | None = None,
        algorithm_settings: Mapping[str, Mapping[str, Any]] | None = None,
        engine: str = "local",
        ray_address: str = "",
        start: Start | None = None,
        network: str | Callable[..., Any] | None = None,
        **hyper: Any,
    ) -> None:
        opening = opened(drill, resume, algorithm, algorithm_settings, network)
        self.drill, self._algorithm = opening.drill, opening.algorithm
        self._engine = algorithms.engine(engine, ray_address, self._algorithm, brought=start is not None)
        self._config = opening.config(preset, hyper)
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._listeners = Listeners()
        self._status = TrainingStatus(self.drill.spec.name)
        self._files = RunFiles(self.drill.name, log_dir, keep_in, self._status.warn, autosave)
        self._scenes = Scenes(self.drill.spec)
        self._latest = LatestPolicy(self._config.untrained())
        self._control = RunControl(self._status, self._latest, self._start_processes)
        self._state = RunState(self.drill, self._config, self._latest, self._status, self._scenes, self._files)
        self._starts = RunStart(self._config, self._latest, self._state, self._engine, start, gentle, track)
        self._closed = False
        if opening.saved is not None:
            self._state.adopt(opening.saved, atomic.absolute(opening.resume or ""))

    # ---- what a user does; Readings has what one reads

    def claim(self) -> None:
        """From now on `log_dir`, or the file `autosave`, is this trainer's alone, until it is closed; so does the first
        start or load. Raises ClaimError while another run, of this process or another one, writes there.
        """
        with self._lock:
            self._files.claim(lambda: self._control.processes is None and not self._status.going, self._lock)

    def start(self, *, until_solved: bool = False, **hyper: Any) -> None:
        """Start training, or continue after a stop with the same policy. Returns at once.

        Paused learning resumes. With `until_solved`, training stops once an evaluation reaches the drill's target, also
        if it is running already; raises ValueError if the drill has no target. Hyper-parameters given here are set
        first. A different network (`hidden_sizes`, `activation`) starts from version 0.
        """
        with self._change():
            self._check_target(until_solved)
            self.claim()
            self.set_hyper(**hyper)
            self._control.start(until_solved=until_solved)

    def train_for(
        self,
        *,
        updates: int | None = None,
        agent_steps: int | None = None,
        seconds: float | None = None,
        until_solved: bool = False,
        stop_when: Callable[[Metrics], bool] | None = None,
        progress: bool | Progress = True,
        **hyper: Any,
    ) -> bool:
        """Train for exactly this much more, and return once training has stopped. `progress`: whether to draw a bar,
        or what draws it.

        It stops at exactly that update, at the first update that reaches the agent steps, or after these seconds of
        training (start-up and evaluation are not counted); with `until_solved`, earlier once the drill is solved; with
        `stop_when`, earlier once `stop_when(metrics)` is true. That is asked after every report of new updates, on the
        thread that called `train_for`; if it raises, that is a warning, and training goes on.
        Returns True if it stopped by itself, False after `stop`. Ctrl-C, and any other exception here (of a bar of
        your own), stops training and is raised. Unless `total_agent_steps` was chosen, schedules end with a budget in
        agent steps or seconds (in lock-step not with seconds, which differ from run to run). Raises ValueError for a
        wrong budget, RuntimeError if training fails or is already running.
        """
        budget = Budget(updates, agent_steps, seconds)
        enough = None if stop_when is None else self._condition(stop_when, "stop_when")
        met = False
        if self.status == "stopping":
            self.join()
        with self._lock:
            self._check_open()
            self._check_target(until_solved)
            if self._status.going:
                raise RuntimeError("training is running: call stop() first, or wait() for what it reaches")
            self.claim()
            self.set_hyper(**hyper)
            chosen = "total_agent_steps" in {*self.drill.spec.training, *self._config.named}
            end = ScheduleEnd(budget, chosen, self.config.deterministic)

            def fit() -> None:
                if (steps := end.found(self.metrics)) is not None:
                    named = set(self._config.named)
                    self.set_hyper(total_agent_steps=steps)
                    self._config.named = named

            def while_training() -> None:
                nonlocal met
                fit()
                if enough is not None and enough():
                    met = True
                    self.stop()

            fit()
            bar = Progress(enabled=progress) if isinstance(progress, bool) else progress
            self._control.start(until_solved=until_solved, budget=budget)
        try:
            self._notify()
            until_over(budget, self._status, self._changed, bar, while_training)
        except BaseException:
            self.stop()
            raise
        return met or self._control.finished

    def _check_target(self, until_solved: bool) -> None:
        if until_solved and self.drill.spec.target is None:
            raise ValueError(f"until_solved needs a drill with a target; {self.drill.name!r} has none")

    def pause_training(self) -> None:
        """Pause after the current update. Returns at once. The learner stays ready.

        Raises RuntimeError when nothing is training.
        """
        self._command("PAUSE_TRAINING", held=True)

    def resume_training(self) -> None:
        """Resume learning after a pause. Returns at once. Raises RuntimeError when nothing is training."""
        self._command("RESUME_TRAINING", held=False)

    def next_update(self, **hyper: Any) -> None:
        """Make one update, then pause. Returns at once. Two calls make two updates.

        If nothing is training, this starts a learner for one update. Hyper-parameters given here are set first.
        """
        with self._change():
            self.claim()
            self.set_hyper(**hyper)
            self._control.next_update()

    def _command(self, message: str, held: bool) -> None:
        with self._change():
            self._control.command(message, held)

    def stop(self, *, seconds: float | None = None) -> None:
        """Stop training. Returns at once. The policy stays, and `start` continues from it. The learner may finish its
        update and save; it is ended by force after `seconds` (10 by default).
        """
        with self._lock:
            stopped = self._control.stop(self._files.autosave, seconds)
        if stopped:
            self._notify()

    def begin_again(self) -> None:
        """Give training that runs what takes effect at the next start, at once. It goes on from where it is: paused if
        it is, until solved if that was asked for. Without training nothing happens.
        """
        with self._lock:
            going = self._control.begin_again(self._files.autosave)
        if going:
            self._notify()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until no learner runs; False if one still runs after `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._control.processes is None, timeout)

    def reset_training(self) -> None:
        """Forget everything learned: stop, and go back to the untrained version 0 with the same seed."""
        with self._change():
            self._state.arriving = None
            self._control.abandon()
            self._state.forget()
            self._status.set("idle", "not started")

    def run_config(self, values: Mapping[str, Any]) -> RunConfig:
        """The settings as they would be with these; changes nothing. Raises ConfigError if one is wrong."""
        with self._lock:
            return self._config.changed(values)

    def set_hyper(self, **values: Any) -> None:
        """Change hyper-parameters, also while training. Raises ConfigError and changes nothing if one is wrong.

        Each takes effect now, at the next update or at the next start (docs/reference/settings.md).
        """
        if not values:
            return
        with self._change():
            told, waiting = self._config.turn(values)
            for key, value in told.items():
                self._control.send({"type": "SET_HYPER", "key": key, "value": value})
            if self._control.processes is not None and waiting:
                network = any(settings.FIELDS[key]["network"] for key in waiting if key in settings.FIELDS)
                new = network and self.latest_policy().trained
                more = f" and need a new network; version {self.version} will stay as a file" if new else ""
                self._status.text = f"{', '.join(waiting)} will take effect at the next start{more}"
            elif self._control.processes is None and not self.latest_policy().trained and self._files.resume is None:
                self._latest.replace(self._config.untrained())

    def pay_for(self, line: str) -> None:
        """Also pay for one line of the rules language (docs/reference/rules.md), once per decision and from the next
        start; "" pays for nothing more. It is the reward term `own_reward`. Raises ValueError with one sentence, and
        changes nothing, if the line is not an expression of that language, or the drill's rules are not known here.
        """
        drill = own_reward.paying(self.drill, line)
        with self._change():
            self.drill = drill
            self._config.pay_by(drill)

    def add_scene(self, state: bytes) -> str:
        """Start a share of the practice games from `state`, a game's state block; its generator and clock are ignored.
        Returns the scene's key. Raises ValueError for an invalid state, if there are eight scenes already, or if this
        run practises none.
        """
        if why := self.lacks("scenes"):
            raise ValueError(why)
        with self._change():
            key = self._scenes.add(state)
            self._send_scenes()
        return key

    def remove_scene(self, key: str) -> None:
        """Stop practising this scene; raises ValueError for an unknown key."""
        with self._lock:
            self._scenes.remove(key)
            self._send_scenes()
        self._notify()

    def clear_scenes(self) -> None:
        """Remove all scenes: practise from the drill's own starts only."""
        with self._lock:
            self._scenes.clear()
            self._send_scenes()
        self._notify()

    def _send_scenes(self) -> None:
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
        """Block until training has run for `seconds`, made `updates` in total, reached `win_rate` against the drill's
        script or, in a drill of one side, a mean return of `return_mean` over the evaluator's 100 episodes.

        Returns True when that is reached, False if training ended first or on Ctrl-C; Ctrl-C stops the waiting, not the
        training. Seconds count from status `training`, so `seconds=0` waits for the start-up. Raises RuntimeError if
        training failed or was not started.
        """
        goals = Goals(self.drill.spec, seconds, updates, win_rate, return_mean)
        if self.status in ("idle", "stopped"):
            raise RuntimeError("nothing is training: call train() or start() first")
        return wait_for(goals, self._status, self._changed, Progress(enabled=progress))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the policy to a `.dshq` file and return its absolute path; raises CheckpointError.

        While training, the learner writes it between two updates, with everything needed to continue exactly. While
        training stops, this waits for its end, which leaves the same. Of a learner that was ended by force the file has
        the newest weights, and the rest as it was saved last.
        """
        target = atomic.absolute(path)
        with self._changed:
            self._changed.wait_for(lambda: self.status != "stopping", self._control.patience)
            learner = self._control.processes if self.status == "training" else None

            def ask(beside: str) -> None:
                self._control.send({"type": "SAVE", "path": beside})

            def wait(written: Callable[[], bool]) -> None:
                self._changed.wait_for(lambda: written() or self._control.processes is not learner, STOP_SECONDS)

            if learner is not None and self._files.by_learner(target, ask, wait):
                return target
        return checkpoint.save(target, self._state.whole(self.latest_policy()))

    def autosave(self) -> None:
        """Ask a training learner to write the autosave soon. Returns at once."""
        with self._lock:
            if self.status == "training":
                self._control.send({"type": "SAVE", "path": str(self._files.autosave())})

    def policy_file(self) -> bytes:
        """The newest policy without the optimiser's state, as the bytes of a `.dshq` file. Never waits."""
        with self._lock:
            newest = self.latest_policy()
            return checkpoint.encode(self._state.checkpoint(newest, self._state.handed_over(newest)))

    def run_file(self) -> bytes:
        """The run as the bytes of a `.dshq` file, with optimiser and league. A learner writes it between two updates;
        one that does not within 10 s leaves them out. Where the policy is more than its network it is the policy alone:
        a replay ring is large.
        """
        if not self._algorithm.plays_alone:
            return self.policy_file()
        from dshq_widget.runtime.scratch import Scratch

        with contextlib.closing(Scratch()) as folder:  # which goes, also where this kernel is killed meanwhile
            return self.save(folder.path / "run.dshq").read_bytes()

    def league_policy(self, version: int | None = None) -> checkpoint.Checkpoint:
        """The policy of a version of the run's league; of None the champion's. A learner that trains writes its league
        first. Raises CheckpointError if there is none.
        """
        return of_league(with_rules(self.drill), checkpoint.decode(self.run_file()), version)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Load the policy of a `.dshq` file, or bronze, silver or gold of the drill's ladder; the next start continues
        from it. Raises CheckpointError and changes nothing if it does not fit or the drill has no ladder.
        """
        name = os.fspath(ladder.full_name(self.drill.name, path))
        self.load_checkpoint(checkpoint.load(name), os.path.basename(name))

    def restore_history(self, rows: Iterable[Mapping[str, float]]) -> None:
        """Put back the curves of a policy that was just loaded, oldest first. Ignored once training goes on."""
        with self._lock:
            self._status.put_back(rows)

    def load_checkpoint(self, saved: checkpoint.Checkpoint, name: str) -> None:
        """Load the policy of a checkpoint called `name`; the next start continues from it. Returns at once.

        Of its settings only the network's shape is used. Running training is stopped and saved first; its policy is
        kept next to the autosave. Raises CheckpointError and changes nothing if it does not fit.
        """
        with self._change():
            self._config.network_of(saved, name)
            self._state.check(saved, name)
            self._algorithm.check_file(saved, name)
            self.claim()
            if self._control.processes is None:
                self._state.replace(saved, name)
            else:
                self._state.arriving = saved, name
                self.stop()
                self._status.text = f"finishing this update and saving; then loading {name}"

    def resume_from(self, path: str | os.PathLike[str]) -> None:
        """Load the run saved in a `.dshq` file with its settings, like `resume=`; the next start continues from it.
        An algorithm's own settings come from a file of that algorithm. Raises CheckpointError, or RuntimeError while
        training runs; then nothing changes.
        """
        with self._change():
            if self._control.processes is not None:
                raise RuntimeError("training is running: call stop() first, then load the other run")
            saved = checkpoint.load(path)
            name = os.path.basename(os.fspath(path))
            self._state.check(saved, name)
            self._algorithm.check_file(saved, name)
            self._config.take(saved, name)
            self._state.forget()
            self._state.adopt(saved, atomic.absolute(path))
            self._status.set("stopped", f"at version {saved.version} of the saved run")

    def prepare(self) -> None:
        """Compile in the background what the first run needs, so that it starts sooner. Returns at once."""
        self._starts.prepare()

    def close(self) -> None:
        """End training and release everything; closing twice is fine. The policy can still be read and saved."""
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

    # ---- the learner process

    def _start_processes(self, orders: Mapping[str, Any]) -> Processes:
        return self._starts.processes(orders, self._on_message, self._on_exit)

    def _on_message(self, processes: Processes, message: Mapping[str, Any]) -> None:
        with self._lock:
            if message["type"] == "CHECKPOINT" and self._files.came_late(message["path"]):
                return
            if processes is not self._control.processes:
                return
            if message["type"] == "SCENES":
                self._scenes.measured(message["rows"])
            elif message["type"] == "CHECKPOINT":
                self._files.written(message["path"])
            elif message["type"] == "POLICY":
                self._latest.arrive(message["policy"])
            else:
                self._status.receive(message)
                if "spent" in message:
                    self._control.spend(message["spent"])
        self._notify()

    def _on_exit(self, processes: Processes, end: Exit) -> None:
        with self._lock:
            if processes is not self._control.processes:
                return
            self._control.over(end)
            if self.status == "stopped":
                self._state.take_arriving()
                self._control.start_again()
        self._notify()

    # ---- small things

    @contextlib.contextmanager
    def _change(self) -> Iterator[None]:
        """Change this trainer in the block, and tell whoever listens. Raises RuntimeError if it is closed."""
        with self._lock:
            self._check_open()
            yield
        self._notify()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("this trainer is closed: create a new one, from a .dshq file if you saved it")

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()
        self._listeners.notify()
