"""The referee: plays a round's blocks, whatever one of them does, and writes their results down."""

from __future__ import annotations

import base64
import dataclasses
import logging
import threading
import time

from dshq_kernels.network.layers import work
from dshq_kernels.play.rollout import Player
from dshq_widget.classroom.block_player import BlockPlayer, TooSlow
from dshq_widget.classroom.errors import LeagueError, Unavailable
from dshq_widget.classroom.once import Once
from dshq_widget.classroom.rounds import GAMES, OtherRules, block_seed, check_rules, drill_of, played, player_of
from dshq_widget.classroom.store import Job, Outcome, Store
from dshq_widget.runtime.words import said

IDLE_SECONDS = 0.5
"""How often the referee checks for a closed round."""
RETRY_SECONDS = 60.0
"""How often blocks that failed are tried again once all others are played."""
AWAY_SECONDS = 5.0
"""How often the referee tries a database that cannot be used."""
STOP_SECONDS = 10.0
"""How long a service that ends waits for the block that is being played."""

log = logging.getLogger("dshq.league")


def told(error: Exception) -> str:
    """What the instructor reads of it."""
    return str(error) if isinstance(error, LeagueError) else said(error)


def forfeit(costs: tuple[int, int]) -> Outcome:
    """A block that could not be played in time: lost by the network that costs more operations a decision, drawn
    where both cost the same. There is no game to watch.
    """
    first, second = costs
    wins, losses = GAMES * (second > first), GAMES * (first > second)
    return Outcome(wins, GAMES - wins - losses, losses, None)


class Referee:
    """Plays the store's unplayed blocks, in this process or, by `apart`, in another one with a deadline. A block that
    fails stops no other, and a round that cannot be played no other round: both are passed over and tried again later.
    """

    def __init__(self, store: Store, apart: BlockPlayer | None = None) -> None:
        self.store, self._apart = store, apart
        self.problem = ""
        """Why something was passed over, "" if nothing was."""
        self.retry()

    def retry(self) -> None:
        """Try again what was passed over."""
        self._passed, self._rounds = 0, set[int]()
        self._tried = time.monotonic()

    def play_next(self) -> bool:
        """Play one block and store its result; False if there is none. Raises what went wrong with it."""
        job = self.store.next_job(self._passed, self._rounds)
        if job is None:
            if not self._passed and not self._rounds:
                self.problem = ""
            elif time.monotonic() - self._tried > RETRY_SECONDS:
                self.retry()
            return False
        try:
            outcome = self._outcome(job)
        except Exception as error:
            self._tried = time.monotonic()
            self.problem = told(error)
            if isinstance(error, OtherRules):
                self._rounds.add(job.round.id)
            else:
                self._passed = job.id
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
        check_rules(job.round, (job.first, job.second))
        drill = drill_of(job.round.drill)
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
        referee, logged = self._referee, Once()
        while not self._over.is_set():
            wait = IDLE_SECONDS
            try:
                busy = referee.play_next()
                self.problem = referee.problem
            except Exception as error:  # nobody waits for this thread; the instructor's page shows the problem
                self.problem, busy = told(error), False
                if isinstance(error, Unavailable):
                    wait = AWAY_SECONDS
                if logged.new(self.problem):
                    log.error("a block is not played: %s", self.problem, exc_info=not isinstance(error, LeagueError))
            if not busy:
                self._over.wait(wait)
        referee.stop()
