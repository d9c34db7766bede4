"""Plays a round: blocks of games between two entries, on both sides, with seeds that are secret until the end."""

from __future__ import annotations

import base64
import dataclasses
import functools
import gzip
import hashlib
import json
import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

from dshq_kernels.network.layers import work
from dshq_kernels.play.rollout import Matches, Player, play_matches
from dshq_widget.classroom.block_player import BlockPlayer, TooSlow
from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.store import Anchor, Job, Outcome, Store
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drills import drills
from dshq_widget.env.batch import compiled
from dshq_widget.env.replay import replay, state_hash
from dshq_widget.policy import checkpoint, ladder
from dshq_widget.policy.evaluate import network, opponent

GAMES = 32
"""Games of one block: a tile of each side."""
IDLE_SECONDS = 0.5
"""How often the referee checks for a closed round."""
RETRY_SECONDS = 60.0
"""How often blocks that failed are tried again once all others are played."""
STOP_SECONDS = 10.0

log = logging.getLogger("dshq.league")


def league_drills() -> tuple[str, ...]:
    """Names of the built-in drills that a league supports: those of two sides."""
    return tuple(name for name, drill in drills.items() if drill.sides == 2)


@functools.cache
def drill_of(name: str) -> CompiledDrill:
    """A drill of the package, compiled once; raises LeagueError for one that a league does not support."""
    if name not in league_drills():
        raise LeagueError(f"expected a drill of two sides: one of {', '.join(league_drills())}; got {name[:40]!r}")
    return compiled(name)


def anchor_names(drill: str) -> tuple[str, ...]:
    """Possible anchors of a drill, weakest first: random play, its baselines, the ladder's rungs."""
    return ("random", *drill_of(drill).spec["baselines"], *ladder.rungs(drill))


def anchors_of(drill: str, names: Sequence[str]) -> list[Anchor]:
    """The anchors of a round. Random play is always one of them, because ratings are relative to it."""
    known = anchor_names(drill)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise LeagueError(f"{unknown[0][:40]!r} is not an anchor of {drill!r}: choose from {', '.join(known)}")
    rungs = ladder.rungs(drill)
    chosen = [name for name in known if name in names or name == known[0]]
    return [Anchor(n, digest(checkpoint.load(f"{drill}:{n}")) if n in rungs else n) for n in chosen]


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
        "drill": drill.name,
        "rules_hash": drill.rules_hash,
        "seed": int(state[0]),
        "start": {"tick": 0, "phase": 0, "rest": 0, "state": state.astype("<u4").tobytes().hex()},
        "inputs": [],
        "actions": played.actions[game, :length].ravel().tolist(),
        "ticks": length * drill.spec["action_repeat"],
    }
    return {**recording, "sha256": state_hash(replay(drill.game(), recording)), "league": league}


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


def forfeit(costs: tuple[int, int]) -> Outcome:
    """A block that could not be played in time: lost by the network that costs more operations a decision, drawn
    where both cost the same. There is no game to watch.
    """
    first, second = costs
    wins, losses = GAMES * (second > first), GAMES * (first > second)
    return Outcome(wins, GAMES - wins - losses, losses, None)


class Referee:
    """Plays the store's unplayed blocks, in this process or, by `apart`, in another one with a deadline. A block that
    fails stops no other: `failed` has its number and the reason, and it is tried again later.
    """

    def __init__(self, store: Store, apart: BlockPlayer | None = None) -> None:
        self.store, self._apart = store, apart
        self.failed: dict[int, str] = {}
        self._tried = time.monotonic()

    def play_next(self) -> bool:
        """Play one block and store its result; False if there is none. Raises what went wrong with it."""
        job = self.store.next_job(self.failed)
        if job is None:
            if self.failed and time.monotonic() - self._tried > RETRY_SECONDS:
                self.failed, self._tried = {}, time.monotonic()
            return False
        try:
            outcome = self._outcome(job)
        except Exception as error:
            self.failed[job.id] = str(error) if isinstance(error, LeagueError) else f"{type(error).__name__}: {error}"
            raise
        self.store.record(job, outcome)
        return True

    def stop(self) -> None:
        """End the process that plays, also from another thread in mid-block, which then stays unplayed. Twice is
        fine.
        """
        if self._apart is not None:
            self._apart.stop()

    def _outcome(self, job: Job) -> Outcome:
        drill = drill_of(job.round.drill)
        if drill.rules_hash != job.round.rules_hash:
            raise LeagueError(
                f"round {job.round.id} was opened with different rules of {drill.name!r} ({job.round.rules_hash}, "
                f"now {drill.rules_hash}): finish it with the release that opened it"
            )
        digests = (job.first.digest, job.second.digest)
        seed = block_seed(job.round.secret, job.round.rules_hash, *digests, job.block)
        contents = [self._content(entry.submission_id) for entry in (job.first, job.second)]
        pair = list(zip((job.first.name, job.second.name), contents, strict=True))
        if self._apart is None:
            return Outcome(*played(drill, [player_of(drill.name, *each) for each in pair], seed, digests))
        asked = [{"name": name, "content": content and base64.b64encode(content).decode()} for name, content in pair]
        try:
            found = self._apart.play({"drill": drill.name, "seed": seed, "digests": digests, "pair": asked})
        except TooSlow as error:
            log.warning("block %d of round %d is forfeited: %s", job.id, job.round.id, error)
            players = [player_of(drill.name, *each) for each in pair]
            return forfeit((_cost(players[0]), _cost(players[1])))
        return Outcome(found["wins"], found["draws"], found["losses"], base64.b64decode(found["replay"]))

    def _content(self, submission: int | None) -> bytes | None:
        return None if submission is None else self.store.content(submission)


def _cost(player: Player) -> int:
    """Operations of one decision; 0 of a script."""
    return 0 if player.blob is None else work(player.layers)


@dataclasses.dataclass
class RefereeThread:
    """A referee in a separate thread. The games are played in a process with a deadline, or, by `apart=False`, for
    policies of one's own, in this one.
    """

    store: Store
    apart: bool = True
    problem: str = ""
    """Why blocks are not played, "" if all are; shown to the instructor."""

    def start(self) -> None:
        """Start, and continue what an earlier service left."""
        self._referee = Referee(self.store, BlockPlayer() if self.apart else None)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dshq-referee", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop after the block that is being played, or without it after `STOP_SECONDS`: the next service plays it."""
        self._over.set()
        self._thread.join(STOP_SECONDS)
        if self._thread.is_alive():
            self._referee.stop()
            self._thread.join()

    def _run(self) -> None:
        referee = self._referee
        while not self._over.is_set():
            try:
                busy = referee.play_next()
                self.problem = next(iter(referee.failed.values()), "")
            except Exception as error:  # nobody waits for this thread; the instructor's page shows the problem
                reported, self.problem, busy = self.problem, f"{type(error).__name__}: {error}", False
                if reported != self.problem:
                    log.exception("could not play a block")
            if not busy:
                self._over.wait(IDLE_SECONDS)
        referee.stop()
