"""Replays a match that the page recorded, bit by bit. js/match/replay.ts does the same in JavaScript.

A recording is seed (or a starting state), the inputs stamped with the tick before which they were applied, and both
sides' action indices at every decision; js/contract/protocol.ts, `Recording`, lists its fields.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.contract.game_spec import DrillSpec
from dshq_widget.contract.protocol import MOST_REPEAT, REPLAY_FORMAT, REST_SECONDS
from dshq_widget.drill.compiled import CompiledDrill

FIRST = np.eye(1, 16, dtype=np.uint8)
"""Selects lane 0 of one tile, (1, 16); the other lanes are ignored."""


def replay(drill: CompiledDrill, recording: Mapping[str, Any]) -> NDArray[np.uint32]:
    """The state at `recording["ticks"]`, u32 (words,). Raises ValueError for a recording of different rules, of a newer
    format, one with missing decisions, or with numbers that no match has.
    """
    game, spec = drill.game(), drill.spec
    if (given := recording.get("format", REPLAY_FORMAT)) != REPLAY_FORMAT:
        raise ValueError(
            f"the recording has the format {str(given)[:20]!r} of a newer release, and this one reads {REPLAY_FORMAT}: "
            "update dshq-widget"
        )
    if recording["rules_hash"] != spec.rules_hash:
        raise ValueError(
            f"the recording was made with rules {recording['rules_hash']}, but the drill has rules "
            f"{spec.rules_hash}: use the drill it was made with"
        )
    _check(recording, spec)
    tiles = game.new(1, recording["seed"])
    handles = {handle.name: handle for handle in spec.drag}
    held: dict[str, Mapping[str, Any]] = {}

    def put(motion: Mapping[str, Any]) -> None:
        handle = handles[motion["handle"]]
        for key, field in (("x", handle.x), ("y", handle.y), ("vx", handle.vx), ("vy", handle.vy)):
            tiles[field].reshape(-1, 16)[handle.index, 0] = motion[key]

    tick = phase = rest = 0
    start = recording.get("start")
    if start:
        tick, phase, rest = start["tick"], start["phase"], start["rest"]
        state = np.frombuffer(bytes.fromhex(start["state"]), "<u4")
        tiles.view(np.uint32).reshape(-1, 16)[:, 0] = state

    repeat, sides = spec.action_repeat, spec.sides
    inputs, actions = iter([*recording["inputs"], None]), recording["actions"]
    upcoming = next(inputs)

    def apply() -> None:
        nonlocal upcoming, repeat
        while upcoming is not None and upcoming["tick"] <= tick:
            if upcoming["kind"] == "repeat":
                repeat = upcoming["ticks"]
            elif upcoming["kind"] in ("hold", "throw"):
                held.pop(upcoming["handle"], None)
                put(upcoming)
                if upcoming["kind"] == "hold":
                    held[upcoming["handle"]] = upcoming
            upcoming = next(inputs)

    decisions = 0
    while tick < recording["ticks"]:
        apply()
        for motion in held.values():
            put(motion)
        if rest == 0 and phase == 0:
            chosen = actions[decisions : decisions + sides]
            if len(chosen) < sides:
                raise ValueError(
                    f"the recording ends at tick {recording['ticks']} but has no actions for tick {tick}: "
                    "record it again"
                )
            decisions += sides
            tiles["action"].reshape(sides, 16)[:, 0] = chosen
            game.decide(tiles)
        game.tick(tiles)
        tick += 1
        if rest > 0:
            rest -= 1
            if rest == 0:
                held.clear()
                tiles["practice"][0, 0] = 0
                game.reset(tiles, FIRST)
            continue
        phase += 1
        if phase >= repeat:
            phase = 0
            terminated, winner = game.status(tiles)
            if terminated[0, 0] or tiles["ticks"][0, 0] >= spec.time_limit:
                seconds = REST_SECONDS["draw" if winner[0, 0] == 0 else "goal"]
                rest = max(1, int(seconds * spec.tick_rate + 0.5))
    apply()
    return game.words(tiles)[0]


def _check(recording: Mapping[str, Any], spec: DrillSpec) -> None:
    """Raises ValueError for numbers that no match has: they are bounds of loops, and places in arrays. So a recording
    plays as long as it has decisions for. js/match/replay_file.ts does the same.
    """
    start = recording.get("start") or {"tick": 0, "phase": 0, "rest": 0, "state": "00" * 4 * spec.words}

    def count(value: Any, most: float = math.inf) -> bool:
        return type(value) is int and 0 <= value <= most

    repeats = [given["ticks"] for given in recording["inputs"] if given["kind"] == "repeat"]
    moved = [given for given in recording["inputs"] if given["kind"] in ("hold", "throw")]
    most = max(MOST_REPEAT, spec.action_repeat)
    wrong = {
        "a seed": not count(recording["seed"], (1 << 32) - 1),
        "a tick": not all(map(count, (start["tick"], recording["ticks"]))),
        "a pause": not count(start["rest"], max(REST_SECONDS.values()) * spec.tick_rate + 1),
        "a decision's length": not all(count(ticks, most) for ticks in (start["phase"], *repeats)),
        "a state": len(start["state"]) != 8 * spec.words,
        "an action": not all(count(action, spec.n_actions - 1) for action in recording["actions"]),
        "a handle": not {given["handle"] for given in moved} <= {handle.name for handle in spec.drag},
        "a place": not all(math.isfinite(given[key]) for given in moved for key in ("x", "y", "vx", "vy")),
    }
    if named := [name for name, is_wrong in wrong.items() if is_wrong]:
        raise ValueError(f"the recording has {' and '.join(named)} that no match of {spec.name} has: record it again")


def state_hash(state: NDArray[np.uint32]) -> str:
    """SHA-256 of a state's little-endian words in hex: what `recording["sha256"]` holds."""
    return hashlib.sha256(state.astype("<u4").tobytes()).hexdigest()
