"""A run whose learner is a worker of a page: orders go to the page as messages, reports come from there."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from dshq_widget.contract.faces.in_page import ToLearner
from dshq_widget.contract.finite import is_finite
from dshq_widget.files import atomic
from dshq_widget.policy import checkpoint
from dshq_widget.training.latest_policy import PolicyVersion
from dshq_widget.widget import page_protocol
from dshq_widget.widget.part import Ends
from dshq_widget.widget.sender import MOST_WAITING

NO_PAGE = (
    "no page shows this widget, and it trains in the page: write `w` as the last line of a cell and run it; training "
    "starts as soon as the page is there"
)
CLOSED = "the page that trained was closed: show the widget again and press Train to continue from its last version"
SILENT = (
    "the page that trained has not been heard of for {seconds:.0f} s: show the widget again and press Train to "
    "continue from its last version"
)
OFFER_SECONDS, SILENT_SECONDS = 3.0, 30.0
"""How long a page may take to offer itself before a person is asked for one, and how long one that trains may be
silent; it speaks every second.
"""
NAME = "the page's run"
MOST_TEXT, MOST_NAME, MOST_WARNINGS = 1000, 100, 100
"""Letters of a sentence and of a player's name, and warnings of a run, each of which is logged."""
MOST_EARLY = MOST_WAITING // 2
"""Orders that wait for a page to train; all of them go to it at once."""
MOST_LEAGUE, MOST_ROWS, MOST_HYPER = 250, 64, 16
"""Players of a league, which has 200 snapshots at most, results on scenes, and a player's own hyper-parameters."""


class PageRun:
    """The `Processes` of a run in a page (algorithms/algorithm.py). Any thread may call `send` and `stop`, one thread
    calls the others. Whatever the page says is checked: it raises ValueError or CheckpointError for what is wrong.
    """

    replaceable = False

    def __init__(
        self,
        number: int,
        order: tuple[dict[str, Any], list[bytes]],
        job: Mapping[str, Any],
        newest: PolicyVersion,
        ends: Ends,
        on_message: Callable[[Any, Mapping[str, Any]], None],
        on_exit: Callable[[Any, Any], None],
    ) -> None:
        """`order` is START and its buffers behind the weights, for the page that offers itself; `newest` is the policy
        it starts from.
        """
        self.number, self.over = number, False
        self.learner: int | None = None
        """The number of the page that trains; None before any has offered itself."""
        self._order, self._newest, self._ends = order, newest, ends
        self._on_message, self._on_exit = on_message, on_exit
        self._autosave = str(job["autosave"])
        self._until_solved = bool(job["until_solved"])
        self._lock = threading.Lock()
        self._early: list[dict[str, Any]] = []  # said before there was a page
        self._offer: int | None = None  # of a page, before the weights were there
        self._saves: list[str] = []  # files that the learner was asked for
        self._upload = page_protocol.Upload()
        self.asked = False
        """Whether a person was asked for a page, since none had offered itself for a while."""
        self._training, self._warnings = False, 0
        self._begun = self._heard = self._saved = time.monotonic()
        self._ends_at = math.inf

    # ---- orders, on any thread

    def send(self, message: Mapping[str, Any]) -> None:
        """Send the learner a command; before a page is there, it waits."""
        if message["type"] == "UNTIL_SOLVED":  # that is judged here
            self._until_solved = True
            return
        with self._lock:
            if message["type"] == "SAVE":
                self._saves.append(str(message["path"]))
            if self.learner is not None:
                self._put_to(dict(message))
            elif message["type"] != "SAVE":
                told = [old for old in self._early if not _replaces(message, old)]
                self._early = [*told, dict(message)][-MOST_EARLY:]

    def stop(self, seconds: float) -> None:
        """Ask the learner to end; it is left to itself after `seconds`, at once where there is none."""
        self.send({"type": "STOP"})
        self._ends_at = min(self._ends_at, time.monotonic() + (0.0 if self.learner is None else seconds))

    def _put_to(self, message: dict[str, Any], buffers: list[Any] | None = None) -> None:
        assert self.learner is not None
        self._ends.outbox.put(ToLearner(self.learner, self.number, message).to_json(buffers))

    # ---- on the widget's thread

    def offered(self, learner: int) -> None:
        """A page can train: the first one gets the run."""
        with self._lock:
            if self.learner is not None or self.over or self._ends_at < math.inf:
                return
            order, buffers = self._order
            nbytes = 4 * self._newest.floats + sum(map(len, buffers))
            if not self._newest.drawn or self._ends.outbox.refusal(nbytes):  # `follow` comes back here
                self._offer = learner
                return
            self.learner, self._heard = learner, time.monotonic()
            self._put_to(order, [self._newest.weights.tobytes(), *buffers])
            for message in self._early:
                self._put_to(message)
        self._say({"type": "PHASE", "phase": "starting", "text": "starting the trainer in the page"})

    def follow(self, now: float) -> None:
        """Ends a run that was to end, or whose page is silent; says what is needed; asks for autosaves."""
        if self.over:
            return
        if now >= self._ends_at:
            self._end("")
        elif self.learner is None and self._offer is not None:
            self.offered(self._offer)
        elif self.learner is None:
            self._ask_for_a_page(now)
        elif now - self._heard > SILENT_SECONDS and not self._ends.blocked():
            self._end(SILENT.format(seconds=now - self._heard))
        elif self._training and now - self._saved >= self._ends.trainer.config.autosave_seconds:
            self._saved = now
            self.send({"type": "SAVE", "path": self._autosave})

    def receive(self, message: Any, buffers: Any) -> None:
        """What the page that trains says. Raises ValueError or CheckpointError."""
        self._heard = time.monotonic()
        kind = message.get("type") if isinstance(message, dict) else None
        if self.over:
            return
        if kind == "PHASE":
            self._training = True
            self._say({"type": "PHASE", "phase": "training", "text": _text(message), "device": "page", "workers": 0})
        elif kind == "POLICY":
            self._say({"type": "POLICY", "policy": self._policy(message, buffers)})
        elif kind == "METRICS":
            self._measured(message)
        elif kind == "LEAGUE":
            spec = self._ends.trainer.drill.spec
            self._say({"type": "LEAGUE", "rows": _league(message.get("rows"), ("random", *spec.baselines))})
        elif kind == "SCENES":
            self._say({"type": "SCENES", "rows": _measured_scenes(message.get("rows"))})
        elif kind == "WARNING":
            self._warnings += 1
            if self._warnings > MOST_WARNINGS:
                raise ValueError(f"a page that trains warned more than {MOST_WARNINGS} times")
            self._say({"type": "WARNING", "text": _text(message)})
        elif kind == "FILE":
            self._file(message, buffers)
        elif kind == "STOPPED":  # before it had learned anything
            self._end("")
        elif kind == "FAILED":
            self._end(_text(message))
        elif kind == "LEFT":
            self._end(CLOSED)
        elif kind != "BEAT":
            raise ValueError(f"FROM_LEARNER has a message of unknown type {kind!r:.40}")

    def _ask_for_a_page(self, now: float) -> None:
        if not self.asked and now - self._begun >= OFFER_SECONDS:
            self.asked = True
            self._say({"type": "PHASE", "phase": "starting", "text": NO_PAGE})
            self._say({"type": "WARNING", "text": NO_PAGE})

    def _say(self, message: Mapping[str, Any]) -> None:
        self._on_message(self, message)

    def _end(self, error: str) -> None:
        """The run is over; `error` is the sentence that says why, "" where it was asked to end."""
        from dshq_widget.runtime.supervisor import Exit

        self.over = True
        self._on_exit(self, Exit(None, not error, False, error, "", ""))

    def _policy(self, message: Mapping[str, Any], buffers: Any) -> PolicyVersion:
        version, step = message.get("version"), message.get("step")
        if not all(type(number) is int and 0 <= number <= page_protocol.MOST_COUNT for number in (version, step)):
            raise ValueError("a page's POLICY needs a version and a step, whole numbers")
        data = buffers[0] if isinstance(buffers, list) and len(buffers) == 1 else b""
        if len(data) != 4 * self._newest.floats:
            raise ValueError(f"a page's POLICY needs {4 * self._newest.floats} bytes, got {len(data)}")
        weights = np.frombuffer(bytes(data), "<f4").astype(np.float32)
        if not np.isfinite(weights).all():
            raise ValueError("a page's POLICY has weights that are not finite")
        weights.setflags(write=False)
        assert isinstance(version, int) and isinstance(step, int)
        return PolicyVersion(version, step, self._newest.layers, self._newest.activation, weights)

    def _measured(self, message: Mapping[str, Any]) -> None:
        [values] = page_protocol.history([message.get("values")], 1)
        self._say({"type": "METRICS", "values": values})
        if self._until_solved and values.get("solved") == 1:
            self._until_solved = False
            self.send({"type": "STOP"})

    def _file(self, message: Mapping[str, Any], buffers: Any) -> None:
        """A part of the run as a file. After the last one it is written to where it was asked for; one that `ended` the
        run answers all that asked, and is the autosave, too.
        """
        arrived = self._upload.take({**message, "name": NAME}, buffers)
        if arrived is None:
            return
        saved = checkpoint.parse(arrived[1], NAME)
        if (saved.drill, saved.layers) != (self._ends.trainer.drill.name, self._newest.layers):
            raise checkpoint.CheckpointError(f"{NAME} is of another drill or network: reload the page")
        ended = message.get("ended") is True
        with self._lock:
            paths = [*self._saves, self._autosave] if ended else self._saves[:1]
            self._saves = self._saves[len(paths) :]
        for path in dict.fromkeys(paths):
            try:
                atomic.write(path, arrived[1])
            except OSError as error:
                self._say({"type": "WARNING", "text": f"what the page learned could not be saved: {error}"})
            else:
                self._say({"type": "CHECKPOINT", "path": path})
        if ended:
            self._end("")


def _replaces(new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Whether the second order means nothing after the first."""
    return new["type"] in ("SET_HYPER", "SCENES") and (new["type"], new.get("key")) == (old["type"], old.get("key"))


def _text(message: Mapping[str, Any]) -> str:
    return str(message.get("text"))[:MOST_TEXT]


def _measured_scenes(rows: Any) -> list[dict[str, Any]]:
    """The results on scenes, some of which may have gone meanwhile; raises ValueError."""
    if not isinstance(rows, list) or len(rows) > MOST_ROWS or not all(map(_is_measured, rows)):
        raise ValueError("a page's SCENES needs rows with a key, a share and a version")
    return [{name: row[name] for name in ("key", "share", "version")} for row in rows]


def _is_measured(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("key"), str) or len(row["key"]) > MOST_NAME:
        return False
    return is_finite(row.get("share")) and _is_count(row.get("version"))


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= page_protocol.MOST_COUNT


def _league(rows: Any, scripts: Collection[str]) -> list[dict[str, Any]]:
    """The rows of a page's league as the kernel's have them (learning/league/league.py); raises ValueError. A name that
    no player has, as `toString`, would end the drawing of tables on other pages.
    """
    if not isinstance(rows, list) or len(rows) > MOST_LEAGUE or not all(map(_is_player, rows)):
        raise ValueError("a page's LEAGUE needs rows of players with a name, a rating, and their results")
    if wrong := [row for row in rows if row["name"] not in (scripts if row["pinned"] else (f"v{row['version']}",))]:
        raise ValueError(
            f"a page's LEAGUE has a player {wrong[0]['name']!r:.60}, who is neither a version nor a script"
        )
    return [_player(row) for row in rows]


def _player(row: dict[str, Any]) -> dict[str, Any]:
    """What is known of a player, and nothing else that a page may have put there."""
    known = {name: row[name] for name in ("name", "pinned", "elo", "elo_low", "elo_high", "against")}
    if row["pinned"]:
        return known
    shares = {name: row[name] for name in ("share", "win_rate") if is_finite(row.get(name))}
    hyper = row["hyper"].items() if isinstance(row.get("hyper"), dict) else ()
    settings = {key: value for key, value in itertools.islice(hyper, MOST_HYPER) if len(key) <= MOST_NAME}
    return {
        **known,
        **shares,
        **{name: row[name] for name in ("version", "step") if name in row},
        "hyper": {key: value for key, value in settings.items() if is_finite(value)},
        "champion": row.get("champion", False),
    }


def _is_player(row: Any) -> bool:
    if not isinstance(row, dict):
        return False
    against = row.get("against")
    met = against if isinstance(against, dict) else {"": None}
    rated = all(is_finite(row.get(key)) for key in ("elo", "elo_low", "elo_high"))
    known = row.get("pinned") is True or (row.get("pinned") is False and _is_count(row.get("version")))
    noted = _is_count(row.get("step", 0)) and isinstance(row.get("champion", False), bool)
    return (
        rated
        and known
        and noted
        and len(met) <= MOST_LEAGUE
        and all(isinstance(name, str) and len(name) <= MOST_NAME for name in (row.get("name"), *met))
        and all(isinstance(one, list) and len(one) == 2 and all(map(is_finite, one)) for one in met.values())
    )
