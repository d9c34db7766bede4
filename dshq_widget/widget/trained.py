"""A match whose policy learns: what the page has of the trainer, and what a person does with it in a cell."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import traitlets

from dshq_widget.training.any_drill import with_rules
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import page_protocol
from dshq_widget.widget.kernel_show import KernelShow
from dshq_widget.widget.match import Match
from dshq_widget.widget.part import Part
from dshq_widget.widget.policy_show import PolicyShow
from dshq_widget.widget.quota import Quota

DRAWING = "drawing the weights of the new network, which is large"


class Trained(Match):
    """A match with a trainer behind it. `kernel_show` plays what a page cannot play, `policy_show` decides for a policy
    that a page cannot compute; `parts` are those of the features.
    """

    drill = traitlets.Dict().tag(sync=True)
    policy = traitlets.Dict().tag(sync=True)
    status = traitlets.Unicode("idle").tag(sync=True)
    status_text = traitlets.Unicode("").tag(sync=True)
    error = traitlets.Unicode("").tag(sync=True)
    paused = traitlets.Bool(False).tag(sync=True)
    metrics = traitlets.Dict().tag(sync=True)
    league = traitlets.List(traitlets.Dict()).tag(sync=True)
    scenes = traitlets.List(traitlets.Dict()).tag(sync=True)
    config = traitlets.Dict().tag(sync=True)
    seat = traitlets.Dict().tag(sync=True)
    snapshot = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True, echo_update=False)

    def __init__(
        self,
        trainer: Trainer,
        quota: Quota,
        parts: Sequence[Part],
        kernel_show: KernelShow | None,
        policy_show: PolicyShow | None,
        **more: Any,
    ) -> None:
        self._trainer, self._quota, self._parts = trainer, quota, parts
        self._kernel_show, self._policy_show = kernel_show, policy_show
        self._page_plays = kernel_show is None and policy_show is None
        self._history, self._replaced = trainer.history_number, trainer.replaced  # as the page has them
        self._league = trainer.league  # as in the trait
        self._policy_at, self._awaited = -math.inf, False
        self._sent_policy = trainer.latest_policy()
        self._sent_policy.draw()
        super().__init__(
            policy=self._policy_trait(),
            config=page_protocol.config(trainer),
            metrics=trainer.metrics,
            scenes=trainer.scenes,
            seat=quota.trait(),
            status=trainer.status,
            status_text=trainer.status_text,
            **more,
        )

    def train(self, **hyper: Any) -> None:
        """Start training, or continue after a stop. Returns at once. Hyper-parameters given here are set first. With
        `engine="page"` it starts as soon as a page shows the widget.
        """
        self._trainer.start(**hyper)
        self._refresh()

    def stop(self) -> None:
        """Stop training. Returns at once. `train` continues from here."""
        self._trainer.stop()
        self._refresh()

    def pause_training(self) -> None:
        """Pause learning while the match keeps playing; raises RuntimeError when nothing is training."""
        self._trainer.pause_training()
        self._refresh()

    def resume_training(self) -> None:
        """Resume learning after a pause; raises RuntimeError when nothing is training."""
        self._trainer.resume_training()
        self._refresh()

    def next_update(self, **hyper: Any) -> None:
        """Make one update, then pause; starts training if none runs."""
        self._trainer.next_update(**hyper)
        self._refresh()

    def reset_training(self) -> None:
        """Forget everything learned and go back to version 0."""
        self._trainer.reset_training()
        self._policy_is_due()
        self._refresh()

    def set_hyper(self, **values: Any) -> None:
        """Change hyper-parameters, also while training; raises ConfigError and changes nothing when one is wrong."""
        self._trainer.set_hyper(**values)
        self._refresh()

    def pay_for(self, line: str) -> None:
        """Also pay for one line of the rules language, such as `0.02 * length(s.ball_vx[i], s.ball_vy[i])`, once per
        decision and from the next start on; "" pays for nothing more. See Trainer.pay_for.
        """
        self._trainer.pay_for(line)
        drill = with_rules(self._trainer.drill)
        with self._outbox.lock:
            self.drill = {**self.drill, "spec": drill.spec.to_json(), "javascript": drill.javascript}
        self._refresh()

    def add_scene(self, state: bytes | None = None) -> str:
        """Start a share of the practice games (setting `scene_share`) from the match on the page, or from the state
        block of another game. Returns the scene's key in `scenes`. Raises ValueError for an invalid state.
        """
        if state is None and self.snapshot is None:
            raise ValueError("the match has not been shown on a page yet: show the widget first, or pass a state")
        key = self._trainer.add_scene(self.snapshot["state"] if state is None else state)
        self._refresh()
        return key

    def clear_scenes(self) -> None:
        """Remove all scenes: practise from the drill's own starts only."""
        self._trainer.clear_scenes()
        self._refresh()

    def extend_training(self, minutes: float | None = None) -> None:
        """On a server with a time limit, let training run longer: by `minutes`, or by the server's limit again."""
        self._quota.extend(minutes)
        self._refresh()

    def resume_run(self) -> None:
        """Continue the run of this drill that a kernel on this server left behind; see the trait `seat`."""
        self._quota.resume_run()
        self._policy_is_due()
        self._refresh()

    def submit(self) -> dict[str, Any]:
        """Send the newest policy to the server's class league; returns its answer, raises LeagueError."""
        return self._quota.submit()

    def wait(
        self,
        *,
        seconds: float | None = None,
        updates: int | None = None,
        win_rate: float | None = None,
        return_mean: float | None = None,
    ) -> bool:
        """Block the cell until training has reached a goal; Ctrl-C stops only the waiting. See Trainer.wait. Raises
        RuntimeError, too, with `engine="page"` where no page is there, or cannot be heard while a cell runs.
        """
        for part in self._parts:
            part.check_wait()
        reached = self._trainer.wait(seconds=seconds, updates=updates, win_rate=win_rate, return_mean=return_mean)
        self._refresh()
        return reached

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the newest policy to a `.dshq` file; returns its absolute path, raises CheckpointError."""
        return self._trainer.save(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Load the policy of a `.dshq` file, or bronze, silver or gold for the Ball Drill, to play and to continue
        training. Raises CheckpointError and changes nothing if it does not fit. Running training is stopped and saved
        first.
        """
        self._trainer.load(path)
        self._policy_is_due()
        self._refresh()

    @property
    def history(self) -> list[dict[str, float | int]]:
        """All metrics since the last reset, oldest first."""
        return self._trainer.history

    def history_frame(self) -> Any:
        """The history as a pandas DataFrame; raises ImportError if pandas is not installed."""
        return self._trainer.history_frame()

    @property
    def version(self) -> int:
        """The policy version that plays: as the page reports it, or the one sent last."""
        if self._outbox.flow.reachable and "version" in self._commands.page:
            return self._commands.page["version"]
        return self.policy["version"]

    # ---- what the page has

    def _refresh(self) -> None:
        """Update the traits from the trainer; the policy at most once per swap interval."""
        trainer = self._trainer
        with self._outbox.lock:
            self.status, self.error = trainer.status, trainer.error
            self.paused = trainer.paused
            fps = self._commands.page.get("fps") if self._outbox.flow.reachable else None
            metrics = trainer.metrics
            if metrics:
                self.metrics = {**metrics, "show_fps": fps} if fps else metrics
            elif self.metrics:
                self.metrics = {}
            if trainer.history_number != self._history:
                self._history = trainer.history_number
                self._commands.send_history()
            if trainer.replaced != self._replaced:
                self._replaced = trainer.replaced
                self._policy_is_due()  # it may have been replaced only now: a learner finishes its update first
            if trainer.league is not self._league:
                self._league = trainer.league
                self._offer_league(self._league)
                self.league = page_protocol.league(self._league)
            self.rivals = self._rivals.offer(trainer.kept)
            if self.scenes != (scenes := trainer.scenes):
                self.scenes = scenes
            if self.seat != (seat := self._quota.trait()):
                self.seat = seat
            values = page_protocol.values(trainer)
            own = {**self.config["algorithm"], "values": page_protocol.typed(trainer.algorithm_settings)}
            new = {"values": values, "algorithm": own, "start": page_protocol.start(trainer)}
            if any(self.config[key] != value for key, value in new.items()):
                self.config = {**self.config, **new}
            now = time.monotonic()
            if now - self._policy_at >= self._swap_seconds():
                newest = trainer.drawn_policy()
                self._awaited = newest is None
                if newest is not None and newest is not self._sent_policy:  # the very object: files may be of a version
                    if self._policy_at == -math.inf:
                        self._outbox.flow.hurry("policy")
                    self._policy_at, self._sent_policy = now, newest
                    self.policy = self._policy_trait()
                    if self._kernel_show is not None:
                        self._kernel_show.take(newest, trainer.config)
            self.status_text = DRAWING if self._awaited else trainer.status_text
            if self._policy_show is not None:
                self._policy_show.follow()

    def _policy_trait(self) -> dict[str, Any]:
        return {**page_protocol.policy(self._sent_policy, bare=not self._page_plays), "run": self._replaced}

    def _policy_is_due(self) -> None:
        """Send the newest policy to the page at once, because it replaces the one that plays."""
        self._policy_at = -math.inf
