"""Plays a round: blocks of games between two entries, on both sides, with seeds that are secret until the end."""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from dshq_kernels.play.rollout import Matches, Player, play_matches
from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.store import Anchor
from dshq_widget.contract.protocol import REPLAY_FORMAT
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drills import drills
from dshq_widget.env.batch import compiled
from dshq_widget.env.replay import replay, state_hash
from dshq_widget.policy import checkpoint, ladder
from dshq_widget.policy.evaluate import network, opponent

GAMES = 32
"""Games of one block: a tile of each side."""


class OtherRules(LeagueError):
    """A round was opened with other rules of its drill, or has other anchors, so its blocks cannot be played."""


def league_drills() -> tuple[str, ...]:
    """Names of the built-in drills that a league supports: those of two sides."""
    return tuple(name for name, drill in drills.items() if drill.sides == 2)


@functools.cache
def drill_of(name: str) -> CompiledDrill:
    """A drill of the package, compiled once; raises LeagueError for one that a league does not support."""
    if name not in league_drills():
        raise LeagueError(f"expected a drill of two sides: one of {', '.join(league_drills())}; got {name[:40]!r}")
    return compiled(name)


def check_rules(found: Any, entries: Sequence[Any] = ()) -> None:
    """Raise OtherRules where the round whose row is `found` was opened by a release with other rules of its drill, or
    an anchor among its `entries` was another player in the release that closed it.
    """
    drill = drill_of(found.drill)
    if drill.rules_hash != found.rules_hash:
        raise OtherRules(
            f"round {found.id} was opened with different rules of {drill.name!r} ({found.rules_hash}, "
            f"now {drill.rules_hash}): finish it with the release that opened it, or open a new one"
        )
    for entry in entries:
        if entry.anchor and (now := _anchor_digest(drill.name, entry.name)) != entry.digest:
            raise OtherRules(
                f"round {found.id} was closed with another anchor {entry.name!r} ({entry.digest[:12]}, now "
                f"{now[:12] or 'none'}): finish it with the release that closed it, or open a new one"
            )


def anchor_names(drill: str) -> tuple[str, ...]:
    """Possible anchors of a drill, weakest first: random play, its baselines, the ladder's rungs."""
    return ("random", *drill_of(drill).spec.baselines, *ladder.rungs(drill))


def anchors_of(drill: str, names: Sequence[str]) -> list[Anchor]:
    """The anchors of a round. Random play is always one of them, because ratings are relative to it."""
    known = anchor_names(drill)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise LeagueError(f"{unknown[0][:40]!r} is not an anchor of {drill!r}: choose from {', '.join(known)}")
    return [Anchor(n, _anchor_digest(drill, n)) for n in known if n in names or n == known[0]]


@functools.cache
def _anchor_digest(drill: str, name: str) -> str:
    """What tells an anchor from others: of a rung the digest of its network, of a script its name; "" for none."""
    if name in ladder.rungs(drill):
        return digest(checkpoint.load(f"{drill}:{name}"))
    return name if name in anchor_names(drill) else ""


def digest(saved: checkpoint.Checkpoint) -> str:
    """Digest of a network: SHA-256 of its shape hash and its weights, in hex."""
    return hashlib.sha256(saved.shape_hash.encode() + saved.weights.astype("<f4").tobytes()).hexdigest()


def block_seed(secret: str, rules_hash: str, first: str, second: str, block: int) -> int:
    """The 32-bit seed of a block between two entries by their digests."""
    text = "|".join((secret, rules_hash, first, second, str(block)))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")


def play_block(drill: CompiledDrill, pair: Sequence[Player], seed: int) -> Matches:
    """The games of one block, with their actions."""
    return play_matches(drill.game(), drill.spec, pair[0], pair[1], GAMES, seed=seed, keep_actions=True)


def featured(played: Matches) -> int:
    """The game of a block to show: the fastest decided one, else the first."""
    decided = [k for k in range(len(played.result)) if played.result[k] != 0]
    return min(decided, key=lambda k: int(played.length[k]), default=0)


def first_side(game: int) -> int:
    """The side that a block's first entry has in one of its games: they swap halfway."""
    return int(game >= GAMES // 2)


def recording_of(
    drill: CompiledDrill, played: Matches, game: int, seed: int, digests: tuple[str, str]
) -> dict[str, Any]:
    """One game as a recording (js/contract/protocol.ts), with its origin in `league`, for verification.

    `players` are the digests of sides 0 and 1, `winner` is 0 or 1, or -1 for nobody.
    """
    side, length = int(played.side[game]), int(played.length[game])
    result, state = int(played.result[game]), played.start[game]
    league = {"seed": seed, "game": game, "first": digests[0], "second": digests[1]}
    league |= {"players": list(digests if side == 0 else digests[::-1])}
    league |= {"winner": -1 if result == 0 else side if result > 0 else 1 - side}
    recording = {
        "format": REPLAY_FORMAT,
        "drill": drill.name,
        "rules_hash": drill.rules_hash,
        "seed": int(state[0]),
        "start": {"tick": 0, "phase": 0, "rest": 0, "state": state.astype("<u4").tobytes().hex()},
        "inputs": [],
        "actions": played.actions[game, :length].ravel().tolist(),
        "ticks": length * drill.spec.action_repeat,
    }
    return {**recording, "sha256": state_hash(replay(drill, recording)), "league": league}


def player_of(drill: str, name: str, content: bytes | None) -> Player:
    """An entry as a player: an anchor by its name, or the policy in the bytes of a `.dshq` file."""
    if content is None:
        return opponent(f"{drill}:{name}" if name in ladder.RUNGS else name, drill_of(drill))
    saved = checkpoint.parse(content, "the submission")
    return network(saved.layers, saved.activation, saved.weights)


def played(
    drill: CompiledDrill, pair: Sequence[Player], seed: int, digests: tuple[str, str]
) -> tuple[int, int, int, bytes]:
    """Wins, draws and losses of the first in one block, and one of its games: JSON as gzip."""
    found = play_block(drill, pair, seed)
    shown = recording_of(drill, found, featured(found), seed, digests)
    wins, losses = int((found.result > 0).sum()), int((found.result < 0).sum())
    return wins, GAMES - wins - losses, losses, gzip.compress(json.dumps(shown).encode(), mtime=0)
