"""Replays a match that the page recorded, bit by bit. js/match/replay.ts does the same in JavaScript.

A recording is seed (or a starting state), the inputs stamped with the tick before which they were applied, and both
sides' action indices at every decision; js/contract/protocol.ts, `Recording`, lists its fields.
"""

from __future__ import annotations

import hashlib
import math
from collections import deque
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
    try:
        _check_made_here(recording, drill.spec)
        _check(recording, drill.spec)
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"the recording is not one that a page has saved ({error!r:.100}): record it again") from error
    match = _Match(drill, recording)
    while match.tick < recording["ticks"]:
        match.advance()
    match.apply_inputs()
    return match.game.words(match.tiles)[0]


class _Match:
    """The match that a recording tells of. `tick` counts the ticks done, `phase` those of the present decision, `rest`
    those left of the run-out after an episode.
    """

    def __init__(self, drill: CompiledDrill, recording: Mapping[str, Any]) -> None:
        self.game, self.spec, self.recording = drill.game(), drill.spec, recording
        self.tiles = self.game.new(1, recording["seed"])
        self.tick = self.phase = self.rest = self.decided = 0
        self.repeat = self.spec.action_repeat
        self.inputs = deque(recording["inputs"])
        self.handles = {handle.name: handle for handle in self.spec.drag}
        self.held: dict[str, Mapping[str, Any]] = {}
        start = recording.get("start")
        if start:
            self.tick, self.phase, self.rest = start["tick"], start["phase"], start["rest"]
            state = np.frombuffer(bytes.fromhex(start["state"]), "<u4")
            self.tiles.view(np.uint32).reshape(-1, 16)[:, 0] = state

    def advance(self) -> None:
        """One tick, with the inputs before it. Raises ValueError where a decision is missing."""
        self.apply_inputs()
        for motion in self.held.values():
            self._put(motion)
        if self.rest == 0 and self.phase == 0:
            self._decide()
        self.game.tick(self.tiles)
        self.tick += 1
        if self.rest > 0:
            self._run_out()
            return
        self.phase += 1
        if self.phase >= self.repeat:
            self._end_decision()

    def apply_inputs(self) -> None:
        """What a person did before the next tick."""
        while self.inputs and self.inputs[0]["tick"] <= self.tick:
            given = self.inputs.popleft()
            if given["kind"] == "repeat":
                self.repeat = given["ticks"]
            elif given["kind"] in ("hold", "throw"):
                self.held.pop(given["handle"], None)
                self._put(given)
                if given["kind"] == "hold":
                    self.held[given["handle"]] = given

    def _put(self, motion: Mapping[str, Any]) -> None:
        handle = self.handles[motion["handle"]]
        for key, field in (("x", handle.x), ("y", handle.y), ("vx", handle.vx), ("vy", handle.vy)):
            self.tiles[field].reshape(-1, 16)[handle.index, 0] = motion[key]

    def _decide(self) -> None:
        sides = self.spec.sides
        chosen = self.recording["actions"][self.decided : self.decided + sides]
        if len(chosen) < sides:
            raise ValueError(
                f"the recording ends at tick {self.recording['ticks']} but has no actions for tick {self.tick}: "
                "record it again"
            )
        self.decided += sides
        self.tiles["action"].reshape(sides, 16)[:, 0] = chosen
        self.game.decide(self.tiles)

    def _end_decision(self) -> None:
        self.phase = 0
        terminated, winner = self.game.status(self.tiles)
        if terminated[0, 0] or self.tiles["ticks"][0, 0] >= self.spec.time_limit:
            seconds = REST_SECONDS["draw" if winner[0, 0] == 0 else "goal"]
            self.rest = max(1, int(seconds * self.spec.tick_rate + 0.5))

    def _run_out(self) -> None:
        self.rest -= 1
        if self.rest == 0:
            self.held.clear()
            self.tiles["practice"][0, 0] = 0
            self.game.reset(self.tiles, FIRST)


def _check_made_here(recording: Mapping[str, Any], spec: DrillSpec) -> None:
    """Raises ValueError for another format, or for other rules."""
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
        "a tick": not all(
            map(count, (start["tick"], recording["ticks"], *(one["tick"] for one in recording["inputs"])))
        ),
        "a pause": not count(start["rest"], max(REST_SECONDS.values()) * spec.tick_rate + 1),
        "a decision's length": not all(count(ticks, most) for ticks in (start["phase"], *repeats)),
        "a state": len(start["state"]) != 8 * spec.words,
        "an action": not isinstance(recording["actions"], (list, tuple))
        or not all(count(action, spec.n_actions - 1) for action in recording["actions"]),
        "a handle": not {given["handle"] for given in moved} <= {handle.name for handle in spec.drag},
        "a place": not all(math.isfinite(given[key]) for given in moved for key in ("x", "y", "vx", "vy")),
    }
    if named := [name for name, is_wrong in wrong.items() if is_wrong]:
        raise ValueError(f"the recording has {' and '.join(named)} that no match of {spec.name} has: record it again")


def state_hash(state: NDArray[np.uint32]) -> str:
    """SHA-256 of a state's little-endian words in hex: what `recording["sha256"]` holds."""
    return hashlib.sha256(state.astype("<u4").tobytes()).hexdigest()
