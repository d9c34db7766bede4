"""The widget: a match in a notebook cell, and the trainer behind it.

Traits hold what page and kernel share; docs/architecture.md lists them. They change under one lock, and only the sender
thread sends them (synced.py, sender.py). Messages from the page are checked and queued for that thread (inbox.py),
which executes them (commands.py). So the message handlers may be called on any thread. Whatever a step of that thread
raises is told to the page and logged, and the thread goes on (fence.py): no message, file or full disk freezes a page.
The match's own settings are in match.py.
"""

from __future__ import annotations

import functools
import math
import os
import threading
import time
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import traitlets

from dshq_widget.contract import protocol
from dshq_widget.contract.finite import plain
from dshq_widget.contract.game_spec import Game
from dshq_widget.contract.setting import ConfigError
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.files import atomic
from dshq_widget.gyms.environment import Environment
from dshq_widget.notebook import cells
from dshq_widget.training.any_drill import with_rules
from dshq_widget.training.status import RUNNING
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import page_protocol
from dshq_widget.widget.commands import Commands
from dshq_widget.widget.export_html import Embedded, document, frame
from dshq_widget.widget.fence import Fence
from dshq_widget.widget.inbox import Inbox
from dshq_widget.widget.kernel_show import PANELS, KernelShow
from dshq_widget.widget.match import Match
from dshq_widget.widget.page_protocol import check_show
from dshq_widget.widget.part import Ends, Part
from dshq_widget.widget.parts import PARTS
from dshq_widget.widget.plugins import plugin
from dshq_widget.widget.policy_show import PolicyShow
from dshq_widget.widget.quota import Quota, Rules
from dshq_widget.widget.rivals import Rivals
from dshq_widget.widget.sender import POLL_SECONDS, Message, Sender
from dshq_widget.widget.still import still

STATIC = Path(__file__).parents[1] / "static"


class DrillWidget(Match):
    """A drill that plays live in the cell and can be trained.

    `drill` is a name, a Drill subclass or a `.dshq` path; `resume` continues a drill of your own from such a file.
    `policy` plays from the start, and Train continues from it: bronze, silver or gold for the Ball Drill, or a `.dshq`
    path. Keywords are hyper-parameters (docs/reference/settings.md), which override those of a `preset` (laptop,
    classroom, gpu), and settings of the show: mode, speed, playing, opponent, swap, swap_interval_ms, blend_ms,
    action_repeat, renderer (auto, webgpu or canvas2d). `seed` seeds both the match and the training. `controls`
    names the panels to show, all by default; it can also be set later. `lesson` ("shaping") shows the panels of a
    lesson. `prepare`: compile in the background what Train will need; False for a widget that never trains here.
    Raises ConfigError (a ValueError), CheckpointError, or the drill's own error, each with one sentence.
    Running the same cell again closes its earlier widget if the front end reports cell ids; `save` still works on that
    widget.
    """

    _esm = traitlets.Unicode().tag(sync=True)
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
    controls = traitlets.Any(None).tag(sync=True)
    seat = traitlets.Dict().tag(sync=True)
    snapshot = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True, echo_update=False)

    _closed = True  # until it is open: ipywidgets closes a widget whose constructor failed

    def __init__(
        self,
        drill: str | os.PathLike[str] | type[Drill] | CompiledDrill | Environment = "ball",
        *,
        seed: int | None = None,
        resume: str | os.PathLike[str] | None = None,
        policy: str | os.PathLike[str] | None = None,
        preset: str | None = None,
        controls: Iterable[str] | None = None,
        lesson: str | None = None,
        prepare: bool = True,
        **keywords: Any,
    ) -> None:
        show = {key: keywords.pop(key) for key in list(keywords) if key in protocol.SHOW_DEFAULTS}
        hyper = keywords if seed is None else {**keywords, "seed": seed}
        rules = Rules.of()
        self._parts = [part() for part in PARTS]
        place = next((part for part in self._parts if part.engine and part.engine == hyper.get("engine")), Part())
        self._trainer = Trainer(
            drill, resume=resume, preset=preset, gentle=True, keep_in=rules.runs, start=place.start, **hyper
        )
        try:
            place.check(self._trainer)
        except ConfigError:
            self._trainer.close()
            raise
        if policy is not None:
            self._trainer.load(policy)
        compiled = self._trainer.drill
        self._outbox = Sender(self._send_traits, lambda message: self.send(message, message.pop("buffers", None)))
        self._fence = Fence(functools.partial(self._outbox.log, "error"))
        rules = rules if place.start is None else rules.elsewhere
        self._quota = Quota(self._trainer, rules, functools.partial(self._outbox.log, "notice"))
        elsewhere = self._trainer.played_by_process
        self._rivals = Rivals(compiled, elsewhere, None if elsewhere else self._trainer.league_policy)
        self._league = self._trainer.league  # as in the trait
        self._rivals.offer_league(self._league)
        self._history, self._replaced = self._trainer.history_number, self._trainer.replaced  # as the page has them
        self._policy_at = -math.inf
        self._sent_policy = self._trainer.latest_policy()
        offered = _panels(compiled)
        if controls is None and lesson is not None:
            controls = [panel for panel in plugin("lesson")(lesson).controls if panel in offered]
        if "opponent" in show:
            show["opponent"] = self._rivals.named(show["opponent"])
            self._rivals.load(show["opponent"])
        checked = {key: check_show(key, plain(value), self._rivals.opponents) for key, value in show.items()}
        own: dict[str, Any] = {"seed": self._trainer.config.seed, "speed": compiled.spec.show_speed}
        if elsewhere and compiled.spec.sides == 2:  # it has learned to play side 0 only
            own["mode"] = "sandbox"
        show = {**protocol.SHOW_DEFAULTS, **own, **checked}
        self._kernel_show = self._kernel_show_of(compiled, show)
        self._policy_show = PolicyShow.of(self._trainer, self._outbox)
        self._page_plays = self._kernel_show is None and self._policy_show is None
        self._commands = Commands(
            *(self._trainer, self._quota, self._kernel_show, self._policy_show, self._outbox, self._fence),
            replaced=self._policy_is_due,
            page_file=self._page_file,
            pay_for=self.pay_for,
        )
        ends = Ends(self._trainer, self._outbox, self._commands.beside, lambda: self._inbox.blocked)
        self._commands.verbs |= {kind: verb for part in self._parts for kind, verb in part.join(ends).items()}
        self._inbox = Inbox(
            self, self._outbox, self._rivals, self._commands.execute, self._met, self._fence, self._known_rules
        )
        comm_id = uuid.uuid4().hex
        super().__init__(
            _esm=page_file("widget.js"),
            model_id=comm_id,
            comm_id=comm_id,
            drill={
                "spec": compiled.spec.to_json(),
                "javascript": "" if isinstance(compiled, Environment) else compiled.javascript,
                "python": page_protocol.expression(drill, compiled),
            },
            show=show,
            policy=self._policy_trait(),
            config=page_protocol.config(self._trainer),
            controls=page_protocol.controls(controls, offered),
            metrics=self._trainer.metrics,
            scenes=self._trainer.scenes,
            seat=self._quota.trait(),
            rivals=self._rivals.known,
            status=self._trainer.status,
            status_text=self._trainer.status_text,
        )
        self._closed = False
        self._let_the_page_choose_its_shell()
        self.on_msg(lambda _, content, buffers: self._inbox.put_message(content, buffers))
        if prepare:
            self._trainer.prepare()
        self._trainer.on_change(self._outbox.notify)
        self._trainer.on_warning(functools.partial(self._outbox.log, "warning"))
        self._sender = threading.Thread(target=self._run, name="dshq-sender", daemon=True)
        self._sender.start()
        cells.supersede(self)

    def _kernel_show_of(self, drill: CompiledDrill | Environment, show: dict[str, Any]) -> KernelShow | None:
        """The show that the kernel plays if the page cannot play it."""
        if not isinstance(drill, Environment):
            return None
        kernel_show = KernelShow(drill, show, self._outbox.notify, self._trainer.network)
        kernel_show.take(self._sent_policy, self._trainer.config)
        self.observe(lambda change: kernel_show.follow(change["new"]), "show")
        return kernel_show

    # ---- training

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

    def export_html(self, path: str | os.PathLike[str], *, train: bool | None = None) -> Path:
        """Write the match, with its current policy, as one HTML file that needs no kernel and no network connection,
        and trains by itself: about 0.8 MB.

        `train=False` leaves the trainer out (0.6 MB); True raises ValueError or RuntimeError where a page cannot train
        this, instead of leaving it out. Returns the file's absolute path; raises OSError if it cannot be written.
        """
        return atomic.write(path, self._page_file(train))

    def _page_file(self, train: bool | None = None) -> bytes:
        """What `export_html` writes."""
        trainer = None if train is False else self.page_trainer(bool(train))
        if train and trainer is None:
            raise ValueError("this package has nothing that trains in a page: leave out train=True")
        return self._document(trainer=trainer).encode()

    def page_trainer(self, needed: bool = False) -> Mapping[str, Any] | None:
        """What an exported page trains by itself with; None if it cannot, or, if it is `needed`, ValueError or
        RuntimeError.
        """
        warn = functools.partial(self._outbox.log, "warning")
        made = (part.for_export(self._trainer, needed, warn) for part in self._parts)
        return next((one for one in made if one), None)

    def embed(self) -> Embedded:
        """The current match as a cell output that still plays when the saved notebook is opened without a kernel. It
        adds about 0.3 MB to the notebook.
        """
        title = self.drill["spec"]["title"]
        return Embedded(frame(self._document(packed=True), title), title)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """The widget's view, and as HTML a picture and a sentence for whoever opens the notebook without the widget."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        snapshot = self.snapshot or {}
        drill = self._trainer.drill
        state = snapshot.get("state") if snapshot.get("rules_hash") == drill.rules_hash else None
        return {**data, "text/html": still(drill, self.show["seed"], state)}, metadata

    def _known_rules(self) -> dict[str, page_protocol.OfRules]:
        drill = self._trainer.drill
        return {} if isinstance(drill, Environment) else {drill.rules_hash: page_protocol.of_rules(drill.spec)}

    def _document(self, packed: bool = False, trainer: Mapping[str, Any] | None = None) -> str:
        self._trainer.require("html")
        if self._kernel_show is not None:
            raise ValueError(
                f"{self._trainer.drill.name} cannot be exported: a page cannot play it without its environment"
            )
        with self._outbox.lock:
            state = {name: getattr(self, name) for name in ("drill", "policy", "rivals", "show", "controls", "config")}
        return document(state, page_file("standalone.js"), page_file("widget.css"), packed=packed, trainer=trainer)

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

    def close(self) -> None:
        """End training and remove the widget from the page; closing twice is fine. The policy can still be saved."""
        if self._closed:
            return
        self._closed = True
        for show in (self._kernel_show, self._policy_show):
            if show is not None:
                show.close()
        self._trainer.close()
        self._refresh()
        self._outbox.notify()
        if self._sender is not None and self._sender is not threading.current_thread():
            self._sender.join(2.0)
        super().close()

    def __enter__(self) -> DrillWidget:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- traits

    @traitlets.validate("controls")
    def _controls_are_panels(self, proposal: Mapping[str, Any]) -> list[str] | None:
        return page_protocol.controls(proposal["value"], _panels(self._trainer.drill))

    def _refresh(self) -> None:
        """Update the traits from the trainer; the policy at most once per swap interval."""
        trainer = self._trainer
        with self._outbox.lock:
            self.status, self.status_text, self.error = trainer.status, trainer.status_text, trainer.error
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
                newest = trainer.latest_policy()
                if newest is not self._sent_policy:  # the very object: two files may hold the same version
                    if self._policy_at == -math.inf:
                        self._outbox.flow.hurry("policy")
                    self._policy_at, self._sent_policy = now, newest
                    self.policy = self._policy_trait()
                    if self._kernel_show is not None:
                        self._kernel_show.take(newest, trainer.config)
            if self._policy_show is not None:
                self._policy_show.follow()

    def _policy_trait(self) -> dict[str, Any]:
        return {**page_protocol.policy(self._sent_policy, bare=not self._page_plays), "run": self._replaced}

    def _policy_is_due(self) -> None:
        """Send the newest policy to the page at once, because it replaces the one that plays."""
        self._policy_at = -math.inf

    # ---- the sender thread

    def _run(self) -> None:
        """The sender thread."""
        step = self._fence.step
        while not self._closed:
            running = self._trainer.status in RUNNING
            self._outbox.wait(running)
            self._inbox.work()
            if not self._outbox.due:
                continue
            fine = step("watching the training time", lambda: self._quota.follow(time.monotonic()))
            for part in self._parts:
                fine &= step("following a feature", part.follow, time.monotonic())
            fine &= step("showing the training", self._refresh)
            fine &= step("sending to the page", self._outbox.send, running, self._swap_seconds(), self._frame)
            if not fine:
                time.sleep(POLL_SECONDS)  # memory or a disk may be free again later: there is no hurry

    def _frame(self) -> Message | None:
        """The newest frame of a show that the kernel plays."""
        if self._kernel_show is None:
            return None
        if problem := self._kernel_show.problem():
            self._outbox.log("error", problem)
        return self._kernel_show.frame()


def _panels(drill: Game) -> tuple[str, ...]:
    """The panels that work for this drill."""
    return PANELS if isinstance(drill, Environment) else tuple(protocol.PANELS)


def page_file(name: str) -> str:
    """A file of the page's bundle; raises FileNotFoundError with the command that builds it."""
    path = STATIC / name
    if not path.is_file():
        raise FileNotFoundError(
            f"the page's bundle {name} is not built: run `make setup` in the checkout (or `npm ci && npm run build`), "
            "or install a released wheel"
        )
    return path.read_text(encoding="utf-8")
