"""Verifies a published replay: the rules reproduce its final state, and its policies reproduce its actions."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.rounds import GAMES, digest, drill_of, play_block, recording_of
from dshq_widget.contract.finite import unusable
from dshq_widget.contract.protocol import REPLAY_FORMAT
from dshq_widget.env.replay import replay, state_hash
from dshq_widget.files import reading
from dshq_widget.policy import checkpoint
from dshq_widget.policy.evaluate import opponent

FIELDS = {"drill": str, "rules_hash": str, "seed": int, "actions": list, "ticks": int, "sha256": str, "league": dict}

MOST_BYTES = 8 << 20
"""Of a replay: a game of a drill has a tenth of it, and JSON of nothing but brackets takes twenty times as much."""
NAME = r"[\w:.+-]{1,100}"
"""A digest, or the name of a policy such as "ball:gold"."""


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a replay published by the league; raises LeagueError if the file is not one."""
    try:
        found = {"format": REPLAY_FORMAT, **json.loads(reading.content_of(path, MOST_BYTES))}
        good = all(isinstance(found[key], kind) for key, kind in FIELDS.items())
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise LeagueError(f"{os.fspath(path)!r} is not a league replay ({type(error).__name__}: {error})") from error
    if found["format"] != REPLAY_FORMAT:
        raise LeagueError(
            f"{os.fspath(path)!r} has the format {str(found['format'])[:20]!r} of a newer release, and this one reads "
            f"{REPLAY_FORMAT}: update dshq-widget"
        )
    if not good:
        raise LeagueError(f"{os.fspath(path)!r} is not a league replay: its fields have wrong types")
    try:
        wrong = unusable(found) or _wrong(found)
    except (ArithmeticError, RecursionError) as error:
        wrong = f"a number in it cannot be used: {type(error).__name__}"
    if wrong:
        raise LeagueError(f"{os.fspath(path)!r} is not a league replay: {wrong}")
    return found


def _wrong(found: dict[str, Any]) -> str:
    """What no replay of a league has; "" if nothing. Its numbers are bounds of loops, and places in arrays."""
    spec = drill_of(found["drill"]).spec
    options, start, league = spec.n_actions, found.get("start"), found["league"]
    if not isinstance(start, dict) or any(start.get(key) != 0 for key in ("tick", "phase", "rest")):
        return "it does not begin at the start of a game"
    state = start.get("state")
    if not isinstance(state, str) or not re.fullmatch(f"[0-9a-f]{{{8 * spec.words}}}", state):
        return "its first state is not one of the drill"
    if found.get("inputs") != [] or not 0 <= found["ticks"] <= spec.time_limit + spec.action_repeat:
        return f"it has inputs, or {found['ticks']:.4g} ticks, more than a game of the drill"
    if not all(type(action) is int and 0 <= action < options for action in found["actions"]):
        return f"its actions are not whole numbers below {options}"
    shown = [found["sha256"], league.get("first"), league.get("second")]  # in a terminal, where they differ
    names = all(isinstance(name, str) and re.fullmatch(NAME, name, re.ASCII) for name in shown)
    limits = {"seed": 1 << 32, "game": GAMES}
    if not names or not all(type(league.get(k)) is int and 0 <= league[k] < most for k, most in limits.items()):
        return "its place in the league is not described"
    return ""


def verify(recording: dict[str, Any], policies: tuple[str, str] | None = None) -> str:
    """Play a replay again; returns the hash of its final state, which is the published one.

    With `policies`, the files or names ("random", "ball:gold") of the first and the second entry, its whole block is
    played again from its seed, too. Raises LeagueError if anything differs.
    """
    drill = drill_of(recording["drill"])
    found = state_hash(replay(drill, recording))
    if found != recording["sha256"]:
        raise LeagueError(f"the replay ends in state {found}, but the published hash is {recording['sha256']}")
    if policies is None:
        return found
    league = recording["league"]
    for which, name in zip(("first", "second"), policies, strict=True):
        is_file = name.endswith(".dshq") or ":" in name
        own = digest(checkpoint.load(name)) if is_file else name
        if own != league[which]:
            raise LeagueError(f"{name!r} is policy {own[:12]}, but the {which} entry was {league[which][:12]}")
    played = play_block(drill, [opponent(name, drill) for name in policies], league["seed"])
    again = recording_of(drill, played, league["game"], league["seed"], (league["first"], league["second"]))
    if again != recording:
        raise LeagueError("with this seed these policies play a different game from the published one")
    return found
