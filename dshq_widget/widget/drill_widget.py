"""The widget: a match in a notebook cell, and the trainer behind it.

Traits hold what page and kernel share; docs/architecture.md lists them. They change under one lock, and only the sender
thread sends them (synced.py, sender.py). Messages from the page are checked and queued for that thread (inbox.py),
which executes them (commands.py). So the message handlers may be called on any thread. Whatever a step of that thread
raises is reported to the page and logged, and the thread continues (fence.py): no message, file or full disk freezes a
page.

This file puts the widget together, and has its thread. Each class has an idea of its own: how traits travel
(synced.py), the match (match.py), training (trained.py), what leaves the notebook (exported.py).
"""

from __future__ import annotations

import functools
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import traitlets

from dshq_widget.contract import protocol
from dshq_widget.contract.finite import plain
from dshq_widget.contract.game_spec import Game
from dshq_widget.contract.setting import ConfigError
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.gyms.environment import Environment
from dshq_widget.notebook import cells
from dshq_widget.training.status import RUNNING
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import page_protocol
from dshq_widget.widget.commands import Commands
from dshq_widget.widget.exported import Exported
from dshq_widget.widget.fence import Fence
from dshq_widget.widget.inbox import Inbox
from dshq_widget.widget.kernel_show import PANELS, KernelShow
from dshq_widget.widget.looking import Looking
from dshq_widget.widget.page_files import page_file
from dshq_widget.widget.page_protocol import check_show
from dshq_widget.widget.part import Ends, Part
from dshq_widget.widget.parts import PARTS
from dshq_widget.widget.plugins import plugin
from dshq_widget.widget.policy_show import PolicyShow
from dshq_widget.widget.quota import Quota, Rules
from dshq_widget.widget.rivals import Rivals
from dshq_widget.widget.sender import POLL_SECONDS, Message, Sender


class DrillWidget(Exported):
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
    _closed = True  # until it is open: ipywidgets closes a widget whose constructor failed
    _interrupted = False  # while it closed

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
        rules, parts = Rules.of(), [part() for part in PARTS]
        place = next((part for part in parts if part.engine and part.engine == hyper.get("engine")), Part())
        trainer = Trainer(
            drill, resume=resume, preset=preset, gentle=True, keep_in=rules.runs, start=place.start, **hyper
        )
        try:
            place.check(trainer)
        except ConfigError:
            trainer.close()
            raise
        if policy is not None:
            trainer.load(policy)
        game, elsewhere = trainer.drill, trainer.played_by_process
        outbox = Sender(
            self._send_traits, lambda message: self.send(message, message.pop("buffers", None)), self._weight
        )
        self._fence = Fence(functools.partial(outbox.log, "error"))
        rules = rules if place.start is None else rules.elsewhere
        quota = Quota(trainer, rules, functools.partial(outbox.log, "notice"))
        rivals = Rivals(game, elsewhere, None if elsewhere else trainer.league_policy)
        rivals.offer_league(trainer.league)
        offered = _panels(game)
        if controls is None and lesson is not None:
            controls = [panel for panel in plugin("lesson")(lesson).controls if panel in offered]
        show = _first_show(trainer, rivals, show)
        kernel_show = _kernel_show_of(trainer, show, outbox)
        policy_show = PolicyShow.of(trainer, outbox)
        commands = Commands(
            *(trainer, quota, kernel_show, policy_show, outbox, self._fence),
            replaced=self._policy_is_due,
            page_file=self._page_file,
            pay_for=self.pay_for,
        )
        ends = Ends(trainer, outbox, commands.beside, lambda: self._inbox.blocked)
        for part in parts:
            commands.add(part.join(ends))
        looking = Looking(commands.look)
        inbox = Inbox(self, outbox, rivals, commands.execute, self._met, self._fence, _rules_of(trainer), looking)
        comm_id = uuid.uuid4().hex
        super().__init__(
            *(trainer, quota, parts, kernel_show, policy_show),
            rivals=rivals,
            commands=commands,
            outbox=outbox,
            inbox=inbox,
            _esm=page_file("widget.js"),
            model_id=comm_id,
            comm_id=comm_id,
            drill={
                "spec": game.spec.to_json(),
                "javascript": "" if isinstance(game, Environment) else game.javascript,
                "python": page_protocol.expression(drill, game),
            },
            show=show,
            controls=page_protocol.controls(controls, offered),
        )
        self._closed = False
        if kernel_show is not None:
            self.observe(lambda change: kernel_show.follow(change["new"]), "show")
        self._let_the_page_choose_its_shell()
        if prepare:
            trainer.prepare()
        trainer.on_change(outbox.notify)
        trainer.on_warning(functools.partial(outbox.log, "warning"))
        self._sender = threading.Thread(target=self._run, name="dshq-sender", daemon=True)
        self._sender.start()
        if cells.supersede(self):
            quota.look_back()  # the run that has ended by this is the one to resume
            outbox.notify()

    def close(self) -> None:
        """End training and remove the widget from the page; closing twice is fine. The policy can still be saved."""
        if self._closed:
            if self._interrupted:
                self._close_parts()
            return
        self._closed = True
        try:
            self._close_parts()
        except KeyboardInterrupt:  # it ends the waiting alone; perhaps it came before the trainer had begun to close
            self._interrupted = True
            raise
        finally:
            self._end()

    def _close_parts(self) -> None:
        for show in (self._kernel_show, self._policy_show):
            if show is not None:
                show.close()
        self._trainer.close()

    def _end(self) -> None:
        """The page hears the last of it."""
        self._refresh()
        self._outbox.notify()
        try:
            if self._sender is not None and self._sender is not threading.current_thread():
                self._sender.join(2.0)
        finally:
            super().close()

    def __enter__(self) -> DrillWidget:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @traitlets.validate("controls")
    def _controls_are_panels(self, proposal: Mapping[str, Any]) -> list[str] | None:
        return page_protocol.controls(proposal["value"], _panels(self._trainer.drill))

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


def _first_show(trainer: Trainer, rivals: Rivals, given: dict[str, Any]) -> dict[str, Any]:
    """The show's settings at the beginning: what was given, checked, over the game's own. Loads the opponent."""
    if "opponent" in given:
        given["opponent"] = rivals.named(given["opponent"])
        rivals.load(given["opponent"])
    checked = {key: check_show(key, plain(value), rivals.opponents) for key, value in given.items()}
    spec = trainer.drill.spec
    own: dict[str, Any] = {"seed": trainer.config.seed, "speed": spec.show_speed}
    if trainer.played_by_process and spec.sides == 2:  # it has learned to play side 0 only
        own["mode"] = "sandbox"
    return {**protocol.SHOW_DEFAULTS, **own, **checked}


def _kernel_show_of(trainer: Trainer, show: Mapping[str, Any], outbox: Sender) -> KernelShow | None:
    """The show that the kernel plays if the page cannot play it."""
    if not isinstance(trainer.drill, Environment):
        return None
    kernel_show = KernelShow(trainer.drill, show, outbox.notify, trainer.network)
    kernel_show.take(trainer.latest_policy(), trainer.config)
    return kernel_show


def _rules_of(trainer: Trainer) -> Callable[[], dict[str, page_protocol.OfRules]]:
    """What the match's rules allow in a snapshot, by their hash: those of now."""

    def known() -> dict[str, page_protocol.OfRules]:
        game = trainer.drill
        return {} if isinstance(game, Environment) else {game.rules_hash: page_protocol.of_rules(game.spec)}

    return known


def _panels(drill: Game) -> tuple[str, ...]:
    """The panels that work for this drill."""
    return PANELS if isinstance(drill, Environment) else tuple(protocol.PANELS)
