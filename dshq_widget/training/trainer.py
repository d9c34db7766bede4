"""Training as seen from the kernel: starts, steers and watches the processes of a run without blocking.

Calls change the run's parts under a lock or send the learner a message (run/parts.py has them all). What a person reads
is in readings.py, what calls back in callbacks.py, files are in keeping.py, what a trainer begins with in opening.py.
Only the learner imports torch.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dshq_widget import algorithms
from dshq_widget.drill import own_reward
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.files import atomic
from dshq_widget.gyms.environment import Environment
from dshq_widget.training.callbacks import Metrics
from dshq_widget.training.goals import Budget, Goals, wait_for
from dshq_widget.training.history import Progress
from dshq_widget.training.keeping import Keeping
from dshq_widget.training.opening import opened
from dshq_widget.training.run.config import RunConfig
from dshq_widget.training.run.parts import RunParts
from dshq_widget.training.run.timed import TimedRun

if TYPE_CHECKING:
    from dshq_widget.algorithms.algorithm import Algorithm, Start


Changed = TypeVar("Changed")


class Trainer(Keeping):
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
        engine_ = algorithms.engine(engine, ray_address, opening.algorithm, brought=start is not None)
        config = opening.config(preset, hyper)
        files: dict[str, Any] = {"log_dir": log_dir, "autosave": autosave, "keep_in": keep_in}
        super().__init__(RunParts(config, engine_, **files, start=start, gentle=gentle, track=track))
        if opening.saved is not None:
            self._run.state.adopt(opening.saved, atomic.absolute(opening.resume or ""))

    def claim(self) -> None:
        """From now on `log_dir`, or the file `autosave`, is this trainer's alone, until it is closed; the first
        start or load claims it too. Raises ClaimError while another run, of this process or another one, writes there.
        """
        with self._run.lock:
            self._run.claim()

    def start(self, *, until_solved: bool = False, **hyper: Any) -> None:
        """Start training, or continue after a stop with the same policy. Returns at once.

        Paused learning resumes. With `until_solved`, training stops once an evaluation reaches the drill's target, also
        if it is running already; raises ValueError if the drill has no target. Hyper-parameters given here are set
        first. A different network (`hidden_sizes`, `activation`) starts from version 0.
        """
        with self._run.or_stop(), self._run.change():
            self._check_target(until_solved)
            self._run.claim()
            self.set_hyper(**hyper)
            self._run.control.start(until_solved=until_solved)

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
        thread that called `train_for`; if it raises, that is a warning, and training continues.
        Returns True if it stopped by itself, False after `stop`. Ctrl-C, and any other exception here (of a bar of
        your own), stops training and is raised. Unless `total_agent_steps` was chosen, schedules end with a budget in
        agent steps or seconds (in lock-step not with seconds, which differ from run to run). Raises ValueError for a
        wrong budget, RuntimeError if training fails or is already running.
        """
        budget = Budget(updates, agent_steps, seconds)
        enough = None if stop_when is None else self._condition(stop_when, "stop_when")
        control, status = self._run.control, self._run.status
        with self._run.changed:
            self._run.changed.wait_for(lambda: status.status != "stopping" or control.processes is None)
        with self._run.or_stop():
            with self._run.change():
                self._check_target(until_solved)
                if status.going:
                    raise RuntimeError("training is running: call stop() first, or wait() for what it reaches")
                self._run.claim()
                self.set_hyper(**hyper)
                timed = TimedRun(self._run, budget, self.set_hyper, self.stop, enough)
                control.start(until_solved=until_solved, budget=budget)
            return timed.through(Progress(enabled=progress) if isinstance(progress, bool) else progress)

    def _check_target(self, until_solved: bool) -> None:
        if until_solved and self.drill.spec.target is None:
            raise ValueError(f"until_solved needs a drill with a target; {self.drill.name!r} has none")

    def pause_training(self) -> None:
        """Pause after the current update. Returns at once. The learner stays ready.

        Raises RuntimeError when nothing is training.
        """
        with self._run.change():
            self._run.control.command("PAUSE_TRAINING", held=True)

    def resume_training(self) -> None:
        """Resume learning after a pause. Returns at once. Raises RuntimeError when nothing is training."""
        with self._run.change():
            self._run.control.command("RESUME_TRAINING", held=False)

    def next_update(self, **hyper: Any) -> None:
        """Make one update, then pause. Returns at once. Two calls make two updates.

        If nothing is training, this starts a learner for one update. Hyper-parameters given here are set first.
        """
        with self._run.or_stop(), self._run.change():
            self._run.claim()
            self.set_hyper(**hyper)
            self._run.control.next_update()

    def stop(self, *, seconds: float | None = None) -> None:
        """Stop training. Returns at once. The policy stays, and `start` continues from it. The learner may finish its
        update and save; it is ended by force after `seconds` (10 by default).
        """
        self._run.stop(seconds)

    def begin_again(self) -> None:
        """Apply at once the settings that take effect at the next start. Running training is restarted and continues:
        paused if it is paused, until solved if that was requested. Without training nothing happens.
        """
        with self._run.uninterrupted() as changed:
            if self._run.control.begin_again(self._run.files.autosave):
                changed()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until no learner runs; False if one still runs after `timeout` seconds."""
        with self._run.changed:
            return self._run.changed.wait_for(lambda: self._run.control.processes is None, timeout)

    def reset_training(self) -> None:
        """Forget everything learned: stop, and go back to the untrained version 0 with the same seed."""
        with self._run.change():
            self._run.control.abandon()
            self._run.state.forget()
            self._run.status.set("idle", "not started")

    def run_config(self, values: Mapping[str, Any]) -> RunConfig:
        """The settings as they would be with these; changes nothing. Raises ConfigError if one is wrong."""
        with self._run.lock:
            return self._run.config.changed(values)

    def set_hyper(self, **values: Any) -> None:
        """Change hyper-parameters, also while training. Raises ConfigError and changes nothing if one is wrong.

        Each takes effect now, at the next update or at the next start (docs/reference/settings.md).
        """
        run = self._run
        if not values:
            return
        with run.change():
            changed, waiting = run.config.turn(values)
            for key, value in changed.items():
                run.control.send({"type": "SET_HYPER", "key": key, "value": value})
            if run.control.processes is not None and waiting:
                network = any(run.config.shapes(key) for key in waiting)
                new = network and self.latest_policy().trained
                more = f" and need a new network; version {self.version} will stay as a file" if new else ""
                run.status.say(f"{', '.join(waiting)} will take effect at the next start{more}")
            elif run.control.processes is None and not self.latest_policy().trained and run.files.resume is None:
                run.state.draw_anew()

    def pay_for(self, line: str) -> None:
        """Also pay for one line of the rules language (docs/reference/rules.md), once per decision and from the next
        start; "" pays for nothing more. It is the reward term `own_reward`. Raises ValueError with one sentence, and
        changes nothing, if the line is not an expression of that language, or the drill's rules are not known here.
        """
        drill = own_reward.paying(self.drill, line)
        with self._run.change():
            self._run.config.pay_by(drill)

    def add_scene(self, state: bytes) -> str:
        """Start a share of the practice games from `state`, a game's state block; its generator and clock are ignored.
        Returns the scene's key. Raises ValueError for an invalid state, if there are eight scenes already, or if this
        run practises none.
        """
        if why := self.lacks("scenes"):
            raise ValueError(why)
        self._run.check_open()
        return self._change_scenes(lambda: self._run.scenes.add(state))

    def remove_scene(self, key: str) -> None:
        """Stop practising this scene; raises ValueError for an unknown key."""
        self._change_scenes(lambda: self._run.scenes.remove(key))

    def clear_scenes(self) -> None:
        """Remove all scenes: practise from the drill's own starts only."""
        self._change_scenes(self._run.scenes.clear)

    def _change_scenes(self, change: Callable[[], Changed]) -> Changed:
        with self._run.uninterrupted() as changed:
            made = change()
            self._run.control.send({"type": "SCENES", "scenes": self._run.scenes.packed()})
            changed()
        return made

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
        return wait_for(goals, self._run.status, self._run.changed, Progress(enabled=progress))

    def prepare(self) -> None:
        """Compile in the background what the first run needs, so that it starts sooner. Returns at once."""
        self._run.starts.prepare()

    def close(self) -> None:
        """End training and release everything; closing twice is fine. The policy can still be read and saved."""
        self._run.close()

    def __enter__(self) -> Trainer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
