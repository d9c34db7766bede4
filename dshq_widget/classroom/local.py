"""A league inside this process, for lessons and experiments: the real service, on this machine only."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from dshq_widget.classroom import rounds, standings
from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.referee import RefereeThread
from dshq_widget.classroom.service.server import INSTRUCTOR, application, listen
from dshq_widget.classroom.store import FINISHED, Store, commitment
from dshq_widget.notebook import cells
from dshq_widget.runtime.scratch import Scratch

LOOPBACK = "127.0.0.1"
START_SECONDS, LOOK_SECONDS = 30.0, 0.1


class Block(NamedTuple):
    """The games between two entries that were played from one seed."""

    match: int
    """Its number; see `LocalLeague.replay`."""
    first: str
    second: str
    wins: int
    """Of the first."""
    draws: int
    losses: int


class LocalLeague:
    """Pages, referee and a database in a temporary folder, all removed at `close` or when this process ends. `token` is
    the instructor's. In a notebook, running the same cell again closes its earlier league. Raises LeagueError if no
    loopback port is free.
    """

    def __init__(self) -> None:
        self._folder = Scratch()
        self.store = Store(f"sqlite:///{self._folder.path / 'league.db'}")
        self.token = self.store.issue_token(INSTRUCTOR, instructor=True)
        self._referee = RefereeThread(self.store, apart=False)
        self._ready: threading.Event = threading.Event()
        self._problem: Exception | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="dshq-league", daemon=True)
        self._thread.start()
        if not self._ready.wait(START_SECONDS) or self._problem:
            self._folder.close()
            raise LeagueError(f"the league did not start: {self._problem or 'no answer'}")
        self._referee.start()
        self._closed = False
        cells.supersede(self)

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        try:
            server, self._port = listen(application(self.store, referee=self._referee), 0, LOOPBACK)
        except LeagueError as error:
            self._problem = error
            return
        finally:
            self._ready.set()
        await self._over.wait()
        server.stop()
        await server.close_all_connections()

    @property
    def url(self) -> str:
        """Its address, on this machine only."""
        return f"http://{LOOPBACK}:{self._port}"

    # ---- what an instructor does

    def enrol(self, *names: str) -> dict[str, str]:
        """Create accounts; returns a token by name. Raises LeagueError for an invalid name, or one that stands
        twice.
        """
        return self.store.issue_tokens(names)

    def open_round(self, title: str, drill: str, anchors: Sequence[str] = (), blocks: int = 1) -> int:
        """Open a round that is published in full when finished; returns its number. Raises LeagueError for a drill of
        one side, unknown anchors, a bad title, or blocks that are not 1 to 32.
        """
        chosen = [anchor.name for anchor in rounds.anchors_of(drill, anchors)]
        return self.store.open_round(title, drill, rounds.drill_of(drill).rules_hash, chosen, blocks, publish=True)

    def close_round(self, number: int) -> None:
        """Close a round and play it. Raises LeagueError if the round is not open or has no submissions."""
        found = self.store.round(number)
        self.store.close_round(number, rounds.anchors_of(found.drill, json.loads(found.anchors)))

    def wait(self, number: int, seconds: float = 600.0) -> bool:
        """Block until a closed round has been played; False if it takes longer than `seconds`. Raises LeagueError if a
        block cannot be played.
        """
        until = time.monotonic() + seconds
        while self.store.round(number).state != FINISHED:
            if self._referee.problem:
                raise LeagueError(self._referee.problem)
            if time.monotonic() >= until:
                return False
            time.sleep(LOOK_SECONDS)
        return True

    # ---- what everybody may read

    def commitment(self, number: int) -> str:
        """The SHA-256 of a round's secret, shown from its beginning."""
        return commitment(self.store.round(number).secret)

    def secret(self, number: int) -> str:
        """The secret that all seeds of a round come from; raises LeagueError before its end."""
        found = self.store.round(number)
        if found.state != FINISHED:
            raise LeagueError(f"round {number} is not finished: its secret is published when it is")
        return found.secret

    def table(self, number: int) -> standings.Table:
        """The standings of a round, so far."""
        with self.store.one_moment():
            entries, results = self.store.entries(number), self.store.results(number)
        return standings.table(entries, results)

    def blocks(self, number: int) -> list[Block]:
        """The results behind the table."""
        with self.store.one_moment():
            names = {entry.id: entry.name for entry in self.store.entries(number)}
            rows = self.store.results(number)
        return [Block(r.id, names[r.first_id], names[r.second_id], r.wins, r.draws, r.losses) for r in rows]

    def replay(self, match: int) -> dict[str, Any]:
        """One game of a block of a finished round, as `dshq league verify` reads it; raises LeagueError for others."""
        return json.loads(gzip.decompress(self.store.match(match)[0].replay))

    def close(self) -> None:
        """End pages and referee, and remove the folder; twice is fine."""
        if self._closed:
            return
        self._closed = True
        self._referee.stop()
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self.store.close_connections()
        self._folder.close()

    def __enter__(self) -> LocalLeague:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
