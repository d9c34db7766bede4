"""The widget: a match in a notebook cell, and the trainer behind it.

Traits hold what page and kernel share; docs/architecture.md lists them. They change under one lock, and only the sender
thread puts them on the wire. What the page says is checked and queued for that thread: its handlers do nothing else, so
they may be called on any thread and never raise.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import math
import os
import queue
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from dshq_widget import cells, drills, lessons, page, presets, protocol
from dshq_widget import config as settings
from dshq_widget.classroom.seat import Rules, Seat
from dshq_widget.drill import CompiledDrill, Drill
from dshq_widget.export_html import Embedded, document, frame
from dshq_widget.gyms.environment import Environment
from dshq_widget.ladder import RUNGS
from dshq_widget.page import SEND_SECONDS, Flow, check_show
from dshq_widget.rivals import Rivals
from dshq_widget.screen import PANELS, Screen
from dshq_widget.training import checkpoint
from dshq_widget.training.trainer import RUNNING, PolicyVersion, Trainer

STATIC = Path(__file__).parent / "static"
POLL_SECONDS = 0.1
HISTORY_ROWS = 500
"""Rows in one HISTORY message; a longer history is thinned evenly."""
INBOX_MAX = 1000

log = logging.getLogger("dshq_widget")


class DrillWidget(anywidget.AnyWidget):
    """A drill, played live in the cell, with its training.

    `drill` is a name, a Drill subclass or a `.dshq` path; `resume` continues a drill of your own from such a file.
    `policy` plays from the start: bronze, silver or gold for the Ball Drill, or a `.dshq` path.
    Keywords are hyper-parameters (docs/contract.md), above those of a `preset` (laptop, classroom, gpu), and settings
    of the show: mode, speed, playing, opponent, swap, swap_interval_ms, blend_ms, action_repeat. `seed` starts both the
    match and the training. `controls` names the panels to show, all by default; it may be set later, too; `lesson`
    ("03") names those of a lesson, of which there are ten. Raises ConfigError (a ValueError), CheckpointError, or the
    drill's own error, each with one sentence. Running the same cell again closes the widget that it made before, where
    the front end names its cells; `save` still works on that.
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode().tag(sync=True)
    drill = traitlets.Dict().tag(sync=True)
    policy = traitlets.Dict().tag(sync=True)
    status = traitlets.Unicode("idle").tag(sync=True)
    status_text = traitlets.Unicode("").tag(sync=True)
    error = traitlets.Unicode("").tag(sync=True)
    paused = traitlets.Bool(False).tag(sync=True)
    metrics = traitlets.Dict().tag(sync=True)
    league = traitlets.List(traitlets.Dict()).tag(sync=True)
    scenes = traitlets.List(traitlets.Dict()).tag(sync=True)
    rivals = traitlets.Dict().tag(sync=True)
    config = traitlets.Dict().tag(sync=True)
    show = traitlets.Dict().tag(sync=True)
    controls = traitlets.Any(None).tag(sync=True)
    seat = traitlets.Dict().tag(sync=True)
    snapshot = traitlets.Dict(allow_none=True, default_value=None).tag(sync=True, echo_update=False)
    seq = traitlets.Int(0).tag(sync=True)

    _closed = True  # until it has been opened: ipywidgets closes what failed half way

    def __init__(
        self,
        drill: str | os.PathLike[str] | type[Drill] | CompiledDrill = "ball",
        *,
        seed: int | None = None,
        resume: str | os.PathLike[str] | None = None,
        policy: str | os.PathLike[str] | None = None,
        preset: str | None = None,
        controls: Iterable[str] | None = None,
        lesson: str | int | None = None,
        **keywords: Any,
    ) -> None:
        bundle = {"_esm": _bundle("widget.js"), "_css": _bundle("widget.css")}
        show = {key: keywords.pop(key) for key in list(keywords) if key in protocol.SHOW_DEFAULTS}
        hyper = keywords if seed is None else {**keywords, "seed": seed}
        rules = Rules.of()
        self._trainer = Trainer(drill, resume=resume, preset=preset, gentle=True, keep_in=rules.runs, **hyper)
        if policy is not None:
            self._trainer.load(f"{self._trainer.drill.name}:{policy}" if policy in RUNGS else policy)
        self._write = threading.RLock()
        self._flow = Flow()
        self._dirty: set[str] = set()
        self._wake = threading.Event()
        self._inbox: queue.Queue[Callable[[], None]] = queue.Queue(INBOX_MAX)
        self._outbox: deque[dict[str, Any]] = deque(maxlen=64)
        self._page: dict[str, Any] = {}
        self._league = self._trainer.league  # as the trait shows it
        self._complaints: set[str] = set()
        self._seat = Seat(self._trainer, rules, functools.partial(self._log, "notice"))
        self._policy_at = -math.inf
        self._sent_policy = self._trainer.latest_policy()
        self._upload = page.Upload()
        self._sender: threading.Thread | None = None
        compiled = self._trainer.drill
        offered = _panels(compiled)
        if controls is None and lesson is not None:
            controls = [panel for panel in lessons.lesson(lesson).controls if panel in offered]
        self._screen: Screen | None = None
        self._rivals = Rivals(compiled)
        if "opponent" in show:
            show["opponent"] = self._rivals.named(show["opponent"])
            self._rivals.meet(show["opponent"])
        base = settings.of_drill(compiled.spec)
        checked = {key: check_show(key, value, self._rivals.opponents) for key, value in show.items()}
        super().__init__(
            **bundle,
            drill={"spec": compiled.spec, "javascript": compiled.javascript, "python": _expression(drill, compiled)},
            show={**protocol.SHOW_DEFAULTS, "seed": self._trainer.config.seed, **checked},
            policy=_policy_trait(self._sent_policy, bare=isinstance(compiled, Environment)),
            config={
                "values": page.typed(self._trainer.config.to_json()),
                "schema": settings.schema(),
                "defaults": page.typed(base.to_json()),
                "presets": presets.described(base),
            },
            controls=page.controls(controls, offered),
            metrics=self._trainer.metrics,
            scenes=self._trainer.scenes,
            seat=self._seat.trait(),
            rivals=self._rivals.known,
            status=self._trainer.status,
            status_text=self._trainer.status_text,
        )
        self._closed = False
        if isinstance(compiled, Environment):
            self._screen = Screen(compiled, self.show, self._wake.set)
            self._screen.take(self._sent_policy, self._trainer.config.action_distribution)
            screen = self._screen
            self.observe(lambda change: screen.follow(change["new"]), "show")
        self._let_the_page_choose_its_shell()
        self.on_msg(self._on_page_message)
        self._trainer.on_change(self._wake.set)
        self._trainer.on_warning(functools.partial(self._log, "warning"))
        self._sender = threading.Thread(target=self._run, name="dshq-sender", daemon=True)
        self._sender.start()
        cells.supersede(self)

    # ---- training

    def train(self, **hyper: Any) -> None:
        """Start training, or go on after a stop; returns at once. Hyper-parameters given here are set first."""
        self._trainer.start(**hyper)
        self._refresh()

    def stop(self) -> None:
        """Stop training; returns at once. `train` goes on from here."""
        self._trainer.stop()
        self._refresh()

    def pause_training(self) -> None:
        """Hold the learning while the match goes on; RuntimeError when nothing is training. See `resume_training`."""
        self._trainer.pause_training()
        self._refresh()

    def resume_training(self) -> None:
        """Learn on after a pause; RuntimeError when nothing is training."""
        self._trainer.resume_training()
        self._refresh()

    def next_update(self, **hyper: Any) -> None:
        """Learn once from one round of games, then hold; starts training for that where none runs."""
        self._trainer.next_update(**hyper)
        self._refresh()

    def reset_training(self) -> None:
        """Forget everything learned and go back to version 0."""
        self._trainer.reset_training()
        self._policy_at = -math.inf
        self._refresh()

    def set_hyper(self, **values: Any) -> None:
        """Change hyper-parameters, also while training; raises ConfigError and changes nothing when one is wrong."""
        self._trainer.set_hyper(**values)
        self._refresh()

    def add_scene(self, state: bytes | None = None) -> str:
        """Let a share of the practice games (setting `scene_share`) begin as the match stands on the page, or from the
        state block of another game; returns the scene's key in `scenes`. Raises ValueError for what is no state.
        """
        if state is None and self.snapshot is None:
            raise ValueError("no page has shown the match yet: show the widget first, or give a state")
        key = self._trainer.add_scene(self.snapshot["state"] if state is None else state)
        self._refresh()
        return key

    def clear_scenes(self) -> None:
        """Practise from the drill's own starts only."""
        self._trainer.clear_scenes()
        self._refresh()

    def extend_training(self, minutes: float | None = None) -> None:
        """Let training run longer on a server that ends it after some time: by that time again unless told."""
        self._seat.extend(minutes)
        self._refresh()

    def resume_run(self) -> None:
        """Train on from where a kernel of this server that is gone left this drill; see the trait `seat`."""
        self._seat.resume_run()
        self._policy_at = -math.inf
        self._refresh()

    def submit(self) -> dict[str, Any]:
        """Send the newest policy to the server's class league; returns its answer, raises LeagueError."""
        return self._seat.submit()

    def wait(
        self,
        *,
        seconds: float | None = None,
        updates: int | None = None,
        win_rate: float | None = None,
        return_mean: float | None = None,
    ) -> bool:
        """Block the cell until training has got that far; Ctrl-C ends only the waiting. See Trainer.wait."""
        reached = self._trainer.wait(seconds=seconds, updates=updates, win_rate=win_rate, return_mean=return_mean)
        self._refresh()
        return reached

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the newest policy to a `.dshq` file; returns its absolute path, raises CheckpointError."""
        return self._trainer.save(path)

    def load(self, path: str | os.PathLike[str]) -> None:
        """Let the policy of a `.dshq` file play, and train on from it; raises CheckpointError and changes nothing where
        it does not fit. Training that runs is stopped and saved first.
        """
        self._trainer.load(path)
        self._policy_at = -math.inf
        self._refresh()

    def export_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the match, with the policy that plays now, as one HTML file that needs no kernel and no network.

        About 0.4 MB; returns its absolute path, raises OSError where it cannot be written.
        """
        target = Path(os.path.abspath(os.path.expanduser(path)))
        target.write_text(self._document(), encoding="utf-8")
        return target

    def embed(self) -> Embedded:
        """The match as it is now, for the end of a cell: unlike the widget itself it still plays when the saved
        notebook is opened without a kernel. It adds about 0.15 MB to the notebook.
        """
        title = self.drill["spec"]["title"]
        return Embedded(frame(self._document(packed=True), title), title)

    def _document(self, packed: bool = False) -> str:
        if self._screen is not None:
            raise ValueError(f"{self._trainer.drill.name} needs its environment to play: a page alone cannot show it")
        with self._write:
            state = {name: getattr(self, name) for name in ("drill", "policy", "rivals", "show", "controls", "config")}
        return document(state, _bundle("standalone.js"), self._css, packed=packed)

    @property
    def history(self) -> list[dict[str, float | int]]:
        """All metrics since the last reset, oldest first."""
        return self._trainer.history

    def history_frame(self) -> Any:
        """The history as a pandas DataFrame, where pandas is installed."""
        return self._trainer.history_frame()

    @property
    def version(self) -> int:
        """The policy version that plays in the show: what the page reports, or else what it was last sent."""
        if self._flow.reachable and "version" in self._page:
            return self._page["version"]
        return self.policy["version"]

    # ---- the show

    def play(self) -> None:
        """Let the match run."""
        self._set_show(playing=True)

    def pause(self) -> None:
        """Hold the match; training goes on."""
        self._set_show(playing=False)

    def step(self, unit: str = "tick", count: int = 1) -> None:
        """Pause, and move the match by `count` ticks or decisions."""
        page.one_of("unit", unit, protocol.STEP_UNITS)
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 10_000:
            raise ValueError(f"count must be a whole number from 1 to 10000, got {count!r:.60}")
        self._set_show(playing=False)
        self._outbox.append({"type": "STEP", "unit": unit, "count": count})
        self._wake.set()

    def reset(self, seed: int | None = None) -> None:
        """Start the match anew, from `seed` if one is given."""
        change = {} if seed is None else {"seed": seed}
        self._set_show(match=self.show["match"] + 1, **change)

    @property
    def speed(self) -> float:
        """Multiple of real time at which the match runs, 0.25 to 32."""
        return self.show["speed"]

    @speed.setter
    def speed(self, value: float) -> None:
        self._set_show(speed=value)

    @property
    def mode(self) -> str:
        """ai_vs_ai, human_vs_ai or sandbox."""
        return self.show["mode"]

    @mode.setter
    def mode(self, value: str) -> None:
        self._set_show(mode=value)

    @property
    def opponent(self) -> str:
        """Who plays the other side in the sandbox: idle, random, a baseline, a policy of the ladder (bronze, silver or
        gold for the Ball Drill) or of a `.dshq` file, by its path; "" is the drill's first baseline.
        """
        return self.show["opponent"]

    @opponent.setter
    def opponent(self, value: str) -> None:
        self._set_show(opponent=self._rivals.named(value))

    def close(self) -> None:
        """End the training and take the widget off the page; closing twice is fine. The policy can still be saved."""
        if self._closed:
            return
        self._closed = True
        self._trainer.close()
        if self._screen is not None:
            self._screen.close()
        self._refresh()
        self._wake.set()
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
        return page.controls(proposal["value"], _panels(self._trainer.drill))

    def _set_show(self, **changes: Any) -> None:
        checked = {key: check_show(key, value, self._rivals.opponents) for key, value in changes.items()}
        with self._write:
            self.show = {**self.show, **checked}
        self._meet_rival()

    def _meet_rival(self) -> None:
        """Give the page the policy of the opponent that was chosen, if it is one; raises CheckpointError."""
        self._rivals.meet(self.show["opponent"])
        with self._write:
            self.rivals = self._rivals.known

    def _refresh(self) -> None:
        """Bring the traits up to what the trainer says now; the policy at most once per swap interval."""
        trainer = self._trainer
        with self._write:
            self.status, self.status_text, self.error = trainer.status, trainer.status_text, trainer.error
            self.paused = trainer.paused
            fps = {"show_fps": self._page["fps"]} if self._page.get("fps") and self._flow.reachable else {}
            metrics = trainer.metrics
            if metrics:
                self.metrics = {**metrics, **fps}
            elif self.metrics:
                self.metrics = {}
            if trainer.league is not self._league:
                self._league = trainer.league
                self.league = page.league(self._league)
            if self.scenes != (scenes := trainer.scenes):
                self.scenes = scenes
            if self.seat != (seat := self._seat.trait()):
                self.seat = seat
            values = page.typed(trainer.config.to_json())
            if self.config["values"] != values:
                self.config = {**self.config, "values": values}
            now = time.monotonic()
            if now - self._policy_at >= self._swap_seconds():
                newest = trainer.latest_policy()
                if newest is not self._sent_policy:  # the very object: two files may hold the same version
                    self._policy_at, self._sent_policy = now, newest
                    self.policy = _policy_trait(newest, bare=self._screen is not None)
                    if self._screen is not None:
                        self._screen.take(newest, trainer.config.action_distribution)

    def _swap_seconds(self) -> float:
        return max(self.show["swap_interval_ms"], protocol.SWAP_INTERVAL_MS_MIN) / 1000

    # ---- to the page

    def send_state(self, key: str | Iterable[str] | None = None) -> None:
        """Everything goes at once when the page asks for it; changed traits are left to the sender thread."""
        if key is None or getattr(self, "_sender", None) is None:
            super().send_state(key)
            return
        self._dirty |= {key} if isinstance(key, str) else set(key)
        self._wake.set()

    def _send(self, msg: dict[str, Any], buffers: list[Any] | None = None) -> None:
        super()._send(msg, buffers)
        self._let_the_page_choose_its_shell()

    def _let_the_page_choose_its_shell(self) -> None:
        """Keep the page's messages out of the queue behind a busy cell.

        JupyterLab addresses them to a subshell, but ipykernel 7.4 (`comm/comm.py`) sends them to the shell of whichever
        request was current when the comm last spoke. For this thread that is the running cell's, until it ends.
        """
        if self.comm is not None:
            self.comm.__dict__.pop("_reply_subshell_id", None)

    def _run(self) -> None:
        """The sender thread."""
        while not self._closed:
            running = self._trainer.status in RUNNING
            unsent = (self._dirty or self._outbox) and self._flow.reachable
            self._wake.wait(POLL_SECONDS if running or unsent or self._flow.waiting else None)
            self._wake.clear()
            self._work_inbox()
            self._seat.follow(time.monotonic())
            self._refresh()
            if self._send_due(time.monotonic(), running) or self._send_frame():
                time.sleep(SEND_SECONDS)

    def _send_frame(self) -> bool:
        """Pass on the newest picture of a show that the kernel plays, where nothing else was to be sent."""
        if self._screen is None or not self._flow.reachable:
            return False
        if trouble := self._screen.trouble():
            self._log("error", trouble)
        frame = self._screen.frame()
        if frame is None:
            return False
        self.send(frame, frame.pop("buffers"))
        self._flow.sent_message(time.monotonic())
        return True

    def _send_due(self, now: float, running: bool) -> bool:
        """Send at most one message; whether one went out."""
        if self._outbox and self._flow.reachable:
            message = self._outbox.popleft()
            self.send(message, message.pop("buffers", None))
            self._flow.sent_message(now)
            return True
        keys = self._flow.due(tuple(self._dirty), now, running, self._swap_seconds())
        if not keys:
            return False
        with self._write:
            self._dirty -= keys
            self._flow.sent(keys, now)
            self.seq = self._flow.seq
            self._dirty.discard("seq")
            super().send_state(keys | {"seq"})
        return True

    # ---- from the page

    def set_state(self, sync_data: Any) -> None:
        """The page changed traits: only `show` and `snapshot` are its to change. Never raises."""
        if not isinstance(sync_data, dict):
            self._complain("state that is no object")
            return
        for name, value in sync_data.items():
            if name == "show":
                self._enqueue(functools.partial(self._page_show, value))
            elif name == "snapshot":
                self._enqueue(functools.partial(self._page_snapshot, value))
            elif name not in self.keys:
                self._complain(f"an unknown trait {name!r:.40}")

    def _on_page_message(self, _widget: Any, content: Any, buffers: Any) -> None:
        self._enqueue(lambda: self._page_message(content, buffers))

    def _enqueue(self, command: Callable[[], None]) -> None:
        try:
            self._inbox.put_nowait(command)
        except queue.Full:
            self._complain(f"more than {INBOX_MAX} messages at once")
        self._wake.set()

    def _work_inbox(self) -> None:
        while True:
            try:
                command = self._inbox.get_nowait()
            except queue.Empty:
                return
            command()

    def _page_show(self, value: Any) -> None:
        """Take over what is right in the page's show settings; the page hears back where something was not."""
        if not isinstance(value, dict):
            self._complain("show settings that are no object")
            return
        good, bad = {}, False
        for name, setting in value.items():
            try:
                good[name] = check_show(name, setting, self._rivals.opponents)
            except ValueError as error:
                bad = True
                self._complain(f"a bad show setting: {error}")
        with self._write:
            good["match"] = max(good.get("match", 0), self.show["match"])
            before = "show" in self._dirty
            self.show = {**self.show, **good}
            if not before and not bad and all(self.show.get(name) == setting for name, setting in value.items()):
                self._dirty.discard("show")
        self._flow.heard()
        try:
            self._meet_rival()
        except checkpoint.CheckpointError as error:
            self._log("error", str(error))

    def _page_snapshot(self, value: Any) -> None:
        """Keep what the match needs to go on after a reload."""
        try:
            checked = page.snapshot(value)
        except ValueError as error:
            self._complain(f"a bad snapshot: {error}")
            return
        with self._write:
            self.set_trait("snapshot", checked)
            self._dirty.discard("snapshot")
        self._flow.heard()

    def _page_message(self, content: Any, buffers: Any) -> None:
        """One message of the table `page_to_kernel`; a bad one is logged and changes nothing."""
        kind = content.get("type") if isinstance(content, dict) else None
        if not isinstance(kind, str) or kind not in protocol.MESSAGES["page_to_kernel"]:
            self._complain(f"a message of unknown type {kind!r:.40}")
            return
        ack = content.get("seq") if kind in ("ACK", "HELLO") else None
        self._flow.heard(ack if type(ack) is int else None, hello=kind == "HELLO")
        try:
            self._obey(kind, content, buffers)
        except (ValueError, TypeError, RuntimeError, OSError) as error:
            self._log("error", str(error))
            self._complain(f"{kind} that failed: {error}")

    def _obey(self, kind: str, content: Mapping[str, Any], buffers: Any) -> None:
        if kind == "HELLO":
            if self._screen is not None:
                self._screen.begin()
            self._outbox.append(
                {"type": "HISTORY", "start": 0, "rows": page.thinned(self._trainer.history, HISTORY_ROWS)}
            )
        elif kind == "START_TRAINING":
            self.train(**page.settings_in(content))
        elif kind == "STOP_TRAINING":
            self.stop()
        elif kind == "RESET_TRAINER":
            self.reset_training()
        elif kind == "PAUSE_TRAINING":
            self.pause_training()
        elif kind == "RESUME_TRAINING":
            self.resume_training()
        elif kind == "NEXT_UPDATE":
            self.next_update(**page.settings_in(content))
        elif kind == "SET_HYPER":
            self.set_hyper(**{str(content.get("key")): content.get("value")})
        elif kind == "DRILL_SCENE":
            self.add_scene(page.scene(content, self._trainer.drill.rules_hash))
        elif kind == "DROP_SCENE":
            self._trainer.remove_scene(str(content.get("key")))
        elif kind == "PAGE_STATE":
            self._page = page.page_state(content)
            self._flow.hidden = not self._page["visible"]
            if self._screen is not None:
                self._screen.look(self._page["visible"])
        elif kind == "FRAME_SHOWN" and self._screen is not None:
            self._screen.shown()
        elif kind == "STEP" and self._screen is not None:
            self._screen.step(int(content.get("count", 1)))
        elif kind == "SAVE_POLICY":
            trainer = self._trainer
            name = f"{re.sub('[^A-Za-z0-9_.]+', '-', trainer.drill.name)}-v{trainer.version}.dshq"
            self._outbox.append(page.policy_file(name, trainer.policy_file()))
        elif kind == "EXTEND_TRAINING":
            self.extend_training()
        elif kind == "RESUME_RUN":
            self.resume_run()
        elif kind == "SUBMIT_POLICY":
            self._seat.submit_beside(self._wake.set)
        elif kind == "LOAD_POLICY":
            arrived = self._upload.take(content, buffers)
            if arrived:
                name, data = arrived
                self._trainer.take_over(checkpoint.parse(data, name), name)
                self._policy_at = -math.inf
                self._refresh()

    def _log(self, level: str, text: str) -> None:
        """Tell the page a sentence, once there is one."""
        self._outbox.append({"type": "LOG", "level": level, "text": text})

    def _complain(self, what: str) -> None:
        """Log each kind of nonsense from the page once."""
        if what not in self._complaints and len(self._complaints) < 20:
            self._complaints.add(what)
            log.warning("the page sent %s; it was ignored", what)

    def _handle_msg(self, msg: Mapping[str, Any]) -> None:
        """Comm messages as they come; ipywidgets would print a traceback into somebody's cell for a malformed one."""
        data = msg.get("content", {}).get("data")
        paths = data.get("buffer_paths", []) if isinstance(data, dict) else None
        if not isinstance(paths, list) or not all(page.reaches(data.get("state"), path) for path in paths):
            self._complain("a malformed comm message")
        elif data.get("method") not in ("update", "request_state", "custom"):
            self._complain(f"an unknown comm method {data.get('method')!r:.40}")
        else:
            super()._handle_msg(msg)


def _expression(drill: Any, compiled: CompiledDrill) -> str:
    """What a person would write in Python for this drill: the name of a registered one, else that of the class."""
    name = compiled.name
    if isinstance(compiled, Environment):
        return f'"{name}"'
    if name in drills.drills and (not isinstance(drill, type) or drills.drills[name] is drill):
        return f'"{name}"'
    return drill.__name__ if isinstance(drill, type) else "drill"


def _panels(drill: Any) -> tuple[str, ...]:
    """The panels that make sense for it."""
    return PANELS if isinstance(drill, Environment) else tuple(protocol.PANELS)


def _policy_trait(newest: PolicyVersion, bare: bool = False) -> dict[str, Any]:
    """The trait; `bare` without the weights, where the page does not play."""
    layers = list(newest.layers)
    return {
        **{key: value for key, value in dataclasses.asdict(newest).items() if key in ("version", "step", "activation")},
        "layers": layers,
        "shape_hash": protocol.shape_hash(layers, newest.activation),
        "data": b"" if bare else newest.weights.tobytes(),
    }


def _bundle(name: str) -> str:
    """A file of the page's bundle; raises FileNotFoundError that says how to build it."""
    path = STATIC / name
    if not path.is_file():
        raise FileNotFoundError(
            f"the page's bundle {name} is not built: run `make setup` in the checkout (or `npm ci && npm run build`), "
            "or install a released wheel"
        )
    return path.read_text(encoding="utf-8")
