"""The kernel's half of the page protocol: what the page is told, and checks of what it sends. When it is sent: flow.py.

Pure functions, used by `inbox.py` and its neighbours.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from dshq_widget import drills
from dshq_widget.contract import protocol, setting
from dshq_widget.contract.finite import MOST_WHOLE, is_finite
from dshq_widget.contract.game_spec import DrillSpec, Game
from dshq_widget.policy import ladder
from dshq_widget.training.history import clean

STATE_BYTES_MAX = 1 << 20
MOST_COUNT = (1 << 53) - 1
"""That JavaScript counts."""
MEMORY_BYTES_MAX = 8192
"""Largest memory in a snapshot: 512 units of each side."""
FILE_BYTES_MAX, PARTS_MAX = 64 << 20, 64
"""Largest policy file exchanged with the page, and how many parts it may come in; ours have 1 MB at least, but for the
last.
"""
METRICS_MAX, NAMES_MAX = 500, 20_000
"""Of one row of a history, which has 2,000: how many, and the letters of their names together."""
LETTERS_MAX = 1000
"""Of a line that a person types."""
LEAGUE_ROWS, LEAGUE_NEWEST = 20, 5
"""Players of the league shown on the page, and how many of them are the newest."""


def check_show(name: str, value: Any, opponents: Iterable[str]) -> Any:
    """Check one setting of the show; `opponents` are those besides idle and random. Raises ValueError."""
    if name not in protocol.SHOW_DEFAULTS:
        raise ValueError(f"unknown show setting {name!r:.60}{setting.nearest(name, protocol.SHOW_DEFAULTS)}")
    if name == "mode":
        return one_of(name, value, protocol.MODES)
    if name == "swap":
        return one_of(name, value, protocol.SWAPS)
    if name == "renderer":
        return one_of(name, value, protocol.RENDERERS)
    if name == "opponent":
        return one_of(name, value, ("", "idle", "random", *opponents))
    if name == "playing":
        if isinstance(value, bool):
            return value
        raise ValueError(f"playing must be true or false, got {value!r:.60}")
    lo, hi = _SHOW_RANGES[name]
    if not is_finite(value) or not lo <= value <= hi or (name != "speed" and value != int(value)):
        kind = "a number" if name == "speed" else "a whole number"
        raise ValueError(f"{name} must be {kind} from {lo:g} to {hi:.12g}, got {value!r:.60}")
    return float(value) if name == "speed" else int(value)


def controls(value: Any, offered: Sequence[str] = tuple(protocol.PANELS)) -> list[str] | None:
    """Names of the panels to show, in page order, of panels and tabs; None for all. `offered` are those that work for
    the drill, the default. Raises ValueError.
    """
    if value is None:
        return None if len(offered) == len(protocol.PANELS) else list(offered)
    names = list(value) if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else None
    if names is None:
        raise ValueError(f"controls must be a list of panels such as ['transport', 'training'], got {value!r:.60}")
    tabs = {name: panels for name, panels in protocol.TABS.items() if name not in protocol.PANELS}
    wanted: set[str] = set()
    for name in names:
        one_of("each of controls", name, (*offered, *tabs))
        wanted |= {panel for panel in tabs.get(name, (name,)) if panel in offered}
    return [name for name in protocol.PANELS if name in wanted]


def typed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings for the page; dicts are sent as the text that a user would type."""
    pairs = {key: value for key, value in values.items() if isinstance(value, dict)}
    written = {key: ",".join(f"{name}={_digits(n)}" for name, n in table.items()) for key, table in pairs.items()}
    return {**values} | written


def _digits(number: float) -> str:
    """As many as the number has, so that the page knows what a person typed when it comes back."""
    short = f"{number:g}"
    return short if float(short) == number else repr(float(number))


def policy(given: Any, bare: bool = False) -> dict[str, Any]:
    """A policy of a trainer (PolicyVersion) or of a file (Checkpoint) for the page, with its weights as bytes; `bare`
    omits them, for a page that does not play.
    """
    layers = list(given.layers)
    return {
        "version": given.version,
        "step": given.step,
        "activation": given.activation,
        "layers": layers,
        "shape_hash": protocol.shape_hash(layers, given.activation),
        "data": b"" if bare else given.weights.tobytes(),
    }


def values(trainer: Any) -> dict[str, Any]:
    """The shared settings of a Trainer for the page."""
    return typed(trainer.config.to_json())


def start(trainer: Any) -> dict[str, Any]:
    """What training may start from: `offered`, policies of the ladder, and `now`, the present choice: one of them, ""
    for an untrained network, None once something has been learned, or where nothing is offered.
    """
    offered = () if trainer.played_by_process else ladder.rungs(trainer.drill.name)
    return {"offered": list(offered), "now": trainer.start_from if offered else None}


def config(trainer: Any) -> dict[str, Any]:
    """The settings of a Trainer, as the trait `config` has them: under `engine` where it trains, those that its
    algorithm shares with others, under `algorithm` its own, under `start` what it may start from, and under `targets`
    whom it is to beat.
    """
    shown = trainer.shown_settings()
    return {
        "engine": trainer.engine,
        "values": values(trainer),
        "schema": shown["schema"],
        "defaults": typed(shown["defaults"]),
        "presets": shown["presets"],
        "algorithm": {
            "name": trainer.algorithm,
            "elsewhere": trainer.played_by_process,
            "values": typed(trainer.algorithm_settings),
            "schema": trainer.algorithm_schema,
            "defaults": typed(shown["own_defaults"]),
            "curves": shown["curves"],
            "panel": shown["panel"],
        },
        "start": start(trainer),
        "targets": [dataclasses.asdict(target) for target in ladder.targets(trainer.drill.spec)],
    }


def expression(drill: object, compiled: Game) -> str:
    """How to write this drill in Python: the name of a built-in one or of an environment, else the name of the class.
    `drill` is what the user gave, `compiled` what became of it.
    """
    name = compiled.name
    if not isinstance(compiled.spec, DrillSpec):
        return f'"{name}"'
    if name in drills.drills and (not isinstance(drill, type) or drills.drills[name] is drill):
        return f'"{name}"'
    return drill.__name__ if isinstance(drill, type) else "drill"


def settings_in(content: Mapping[str, Any]) -> dict[str, Any]:
    """The hyper-parameters in a message."""
    return {str(key): value for key, value in content.items() if key != "type"}


_SHOW_RANGES = {
    "speed": (protocol.SPEEDS[0], protocol.SPEEDS[-1]),
    "seed": (0, (1 << 32) - 1),
    "match": (0, (1 << 53) - 1),
    "swap_interval_ms": (0, 600_000),
    "blend_ms": (0, 60_000),
    "action_repeat": (0, protocol.MOST_REPEAT),
}


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if isinstance(value, str) and value in choices:
        return value
    known = ", ".join(repr(choice) for choice in choices if choice)
    raise ValueError(f"{name} must be one of {known}, got {value!r:.60}{setting.nearest(str(value), choices)}")


class Upload:
    """A file that arrives in parts, each a message with one buffer. Jupyter's server closes the connection of a page
    that sends more than 10 MiB at once (tornado's `websocket_max_message_size`).
    """

    def __init__(self) -> None:
        self._name = ""
        self._parts: list[bytes] = []

    @property
    def nbytes(self) -> int:
        """How much has arrived."""
        return sum(map(len, self._parts))

    def take(self, content: Mapping[str, Any], buffers: Any) -> tuple[str, bytes] | None:
        """Add one part; returns (name, bytes) after the last one. On ValueError the upload starts again."""
        name, part, parts = (content.get(key) for key in protocol.MESSAGES["page_to_kernel"]["LOAD_POLICY"])
        begun, self._parts = self._parts if part and name == self._name else [], []
        if not isinstance(name, str) or len(name) > 255 or type(part) is not int or type(parts) is not int:
            raise ValueError("LOAD_POLICY needs a name, a part and the number of parts")
        if parts > PARTS_MAX:  # each part would cost as much as all before it
            raise ValueError(f"the file {name[:60]!r} has {parts!r:.20} parts, more than the limit of {PARTS_MAX}")
        if not isinstance(buffers, list) or len(buffers) != 1 or not 0 <= part < parts or part != len(begun):
            raise ValueError(
                f"part {part + 1} of {parts} of the file {name[:60]!r} arrived out of order: choose the file again"
            )
        parts_so_far = [*begun, bytes(buffers[0])]
        if sum(map(len, parts_so_far)) > FILE_BYTES_MAX:
            raise ValueError(f"the file {name[:60]!r} is larger than the limit of {FILE_BYTES_MAX >> 20} MB")
        if len(parts_so_far) == parts:
            return name, b"".join(parts_so_far)
        self._name, self._parts = name, parts_so_far
        return None


def request(content: Mapping[str, Any]) -> int:
    """The number of a request, which its answer repeats; 0 where there is none that a page can have."""
    number = content.get("request")
    return number if type(number) is int and 0 <= number < 2**53 else 0


def sendable(name: str, data: bytes) -> bytes:
    """The bytes of a policy file called `name` for the page; raises ValueError if there are too many."""
    if len(data) > FILE_BYTES_MAX:
        raise ValueError(f"{name!r} is larger than {FILE_BYTES_MAX >> 20} MB: save it in Python with widget.save(path)")
    return data


def history(rows: Any, limit: int) -> list[dict[str, float | int]]:
    """The rows of metrics in a RESTORE_HISTORY, checked; raises ValueError."""
    if not isinstance(rows, list) or len(rows) > limit or not all(map(_is_row, rows)):
        raise ValueError(f"wanted at most {limit} rows of metrics, each of {METRICS_MAX} at most with short names")
    return [clean(row) for row in rows]


def _is_row(row: Any) -> bool:
    return isinstance(row, dict) and len(row) <= METRICS_MAX and sum(map(len, row)) <= NAMES_MAX


def thinned(rows: list[dict[str, Any]], limit: int, values: int) -> list[dict[str, Any]]:
    """At most `limit` of `rows`, and about so many `values` in all, evenly spaced, the newest one included."""
    limit = max(1, min(limit, values // max([1, *map(len, rows)])))
    stride = -(-len(rows) // limit) if rows else 1
    return rows[::-1][::stride][::-1]


def league(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of `Trainer.league` shown on the page, strongest first: every pinned player, the champion, the newest
    snapshots, then the strongest ones, LEAGUE_ROWS in all. Each has its `rank` among all and its results against the
    others of them.
    """
    newest = sorted((row["version"] for row in rows if not row["pinned"]), reverse=True)[:LEAGUE_NEWEST]
    ranked = [{**row, "rank": rank} for rank, row in enumerate(rows, 1)]
    first = [row for row in ranked if row["pinned"] or row["champion"] or row["version"] in newest]
    taken = {row["rank"] for row in first}
    others = [row for row in ranked if row["rank"] not in taken]
    chosen = sorted([*first, *others[: max(0, LEAGUE_ROWS - len(first))]], key=lambda row: row["rank"])
    names = {row["name"] for row in chosen}
    kept = ("name", "rank", "pinned", "elo", "elo_low", "elo_high", "champion", "version", "step")
    return [
        {key: row[key] for key in kept if key in row}
        | {"against": {name: result for name, result in row["against"].items() if name in names}}
        for row in chosen
    ]


def reaches(state: Any, path: Any) -> bool:
    """Whether a buffer can be put at `path`, a list of keys, in `state`."""
    if not isinstance(path, list) or not path:
        return False
    for key in path[:-1]:
        if not _has_place(state, key) or (isinstance(state, dict) and key not in state):
            return False
        state = state[key]
    return _has_place(state, path[-1])


def _has_place(state: Any, key: Any) -> bool:
    if isinstance(state, dict):
        return isinstance(key, str)
    return isinstance(state, list) and type(key) is int and 0 <= key < len(state)


class OfRules(NamedTuple):
    """What snapshots of a drill's rules hold."""

    nbytes: int
    """Of a state."""
    decision: int
    """Ticks, at most."""
    rest: int
    """After an episode, in ticks, at most."""


def of_rules(spec: DrillSpec) -> OfRules:
    """As js/match/bounds.ts has it."""
    rest = math.floor(max(protocol.REST_SECONDS.values()) * spec.tick_rate + 1)
    return OfRules(4 * spec.words, max(protocol.MOST_REPEAT, spec.action_repeat), rest)


def snapshot(value: Any, known: Mapping[str, OfRules]) -> dict[str, Any] | None:
    """The page's snapshot of its match, checked and copied; raises ValueError. `known`: of rules, by their hash."""
    if value is None:
        return None
    state = value.get("state") if isinstance(value, dict) else None
    if not isinstance(state, (bytes, bytearray, memoryview)) or memoryview(state).nbytes > STATE_BYTES_MAX:
        raise ValueError(f"a snapshot needs a state of at most {STATE_BYTES_MAX} bytes")
    rules = value.get("rules_hash")
    found = known.get(rules) if isinstance(rules, str) else None
    if found and memoryview(state).nbytes != found.nbytes:
        raise ValueError(f"a snapshot of these rules needs a state of {found.nbytes} bytes")
    memory = value.get("memory", b"")
    if not isinstance(memory, (bytes, bytearray, memoryview)) or memoryview(memory).nbytes > MEMORY_BYTES_MAX:
        raise ValueError(f"a snapshot needs a memory of at most {MEMORY_BYTES_MAX} bytes, or none")
    if len(value) > 32 or not all(_is_plain(item) for key, item in value.items() if key not in ("state", "memory")):
        raise ValueError("a snapshot may hold only numbers and short texts besides its state and memory")
    most = dict.fromkeys(("tick", "version", "match"), MOST_COUNT) | dict.fromkeys(("seed", "rng"), (1 << 32) - 1)
    most |= (
        {"phase": MOST_COUNT, "rest": MOST_COUNT} if found is None else {"phase": found.decision, "rest": found.rest}
    )
    for key, limit in most.items():
        if key in value and not (type(value[key]) is int and 0 <= value[key] <= limit):
            raise ValueError(f"a snapshot's {key} is a whole number from 0 to {limit}, got {value[key]!r:.60}")
    score = value.get("score", [0, 0])
    if not isinstance(score, list) or len(score) != 2 or not all(map(is_finite, score)):
        raise ValueError(f"a snapshot's score is two numbers, got {score!r:.60}")
    return {**value, "state": bytes(state), **({"memory": bytes(memory)} if "memory" in value else {})}


def line(value: Any) -> str:
    """A line that a person typed; raises ValueError."""
    if not isinstance(value, str) or len(value) > LETTERS_MAX:
        raise ValueError(f"wanted a text of at most {LETTERS_MAX} letters, got {value!r:.60}")
    return value


def scene(content: Mapping[str, Any], rules_hash: str) -> bytes:
    """The state in a DRILL_SCENE; raises ValueError. The trainer checks whether it is a state of the drill."""
    text = content.get("state")
    if content.get("rules_hash") != rules_hash:
        raise ValueError("the scene belongs to different rules: reload the page and arrange it again")
    if not isinstance(text, str) or len(text) > 2 * STATE_BYTES_MAX:
        raise ValueError(f"a scene needs its state, at most {STATE_BYTES_MAX} bytes in hex")
    return bytes.fromhex(text)


def to_policy_show(kind: str, content: Mapping[str, Any], spec: DrillSpec) -> dict[str, Any]:
    """A page's message to the process that plays for it (policy_show.py), checked; raises ValueError."""
    wanted = protocol.MESSAGES["page_to_kernel"][kind]
    found: dict[str, Any] = {"type": kind, **{key: content.get(key) for key in wanted}}
    start = found.get("start")
    limits = {"page": 1 << 53, "plan": 1 << 53, "tick": 1 << 53, "count": 1000, "action": spec.n_actions - 1}
    for key, most in limits.items():
        if key in wanted and not (type(found[key]) is int and 0 <= found[key] <= most):
            raise ValueError(f"{kind} needs {key}, a whole number from 0 to {most}, got {found[key]!r:.60}")
    if "watch" in wanted and not isinstance(found["watch"], bool):
        raise ValueError(f"{kind} needs watch, true or false")
    if start is not None:
        found["start"] = _start(start, spec)
    return found


def _start(start: Any, spec: DrillSpec) -> dict[str, Any]:
    """The state from which a match is to be played, as DECIDE has it."""
    start = start if isinstance(start, dict) else {}
    state, tick, repeat, at_reset = (start.get(key) for key in ("state", "tick", "repeat", "at_reset"))
    digits = 8 * spec.words
    if not isinstance(state, str) or not re.fullmatch("[0-9a-f]*", state) or len(state) != digits:
        raise ValueError(f"a match to be played needs its state, {digits} digits in hex")
    if type(tick) is not int or not 0 <= tick <= 1 << 53 or type(repeat) is not int or not 1 <= repeat <= 120:
        raise ValueError("a match to be played needs its tick, and ticks per decision from 1 to 120")
    opponent = one_of("opponent", start.get("opponent"), ("idle", "random", *spec.baselines))
    return {"state": state, "tick": tick, "repeat": repeat, "opponent": opponent, "at_reset": at_reset is True}


def _is_plain(value: Any) -> bool:
    """A finite number, a short text or a short list of numbers."""
    if isinstance(value, list):
        return len(value) <= 16 and all(isinstance(item, bool) or is_finite(item) for item in value)
    return (isinstance(value, str) and len(value) <= 100) or isinstance(value, bool) or is_finite(value)


def page_state(content: Mapping[str, Any]) -> dict[str, Any]:
    """The page's report on the show, checked; raises ValueError."""
    state = {key: content.get(key) for key in protocol.MESSAGES["page_to_kernel"]["PAGE_STATE"]}
    version, fps = state["version"], state["fps"]
    if type(version) is not int or not 0 <= version <= MOST_WHOLE or not is_finite(fps):
        raise ValueError("PAGE_STATE needs a version and a frame rate")
    if not isinstance(state["visible"], bool):
        raise ValueError("PAGE_STATE needs visible, true or false")
    return state
