"""The league's database, in SQLite or PostgreSQL: accounts, rounds, submissions, entries and matches.

A match row is one block of games between two entries of a round, unique by (round, first, second, block). It is created
when its round is closed and filled in once, in one transaction. A referee that was killed continues with the next
block, and a block that was played twice counts once.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import datetime
import hashlib
import json
import secrets
import threading
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import sqlalchemy as sql
from sqlalchemy import func, select

from dshq_widget.classroom.database.connection import opened
from dshq_widget.classroom.database.tables import (
    LONGEST_NAME,
    LONGEST_TITLE,
    SECRET_BYTES,
    accounts,
    entries,
    matches,
    rounds,
    settings,
    submissions,
)
from dshq_widget.classroom.errors import LeagueError, NoSuchRound
from dshq_widget.contract.finite import finite

OPEN, PLAYING, FINISHED = "open", "playing", "finished"
"""States of a round: it takes submissions; its matches are played; seeds, replays, perhaps policies are published."""
MOST_BLOCKS = 32
"""Of each pair in a round."""
MOST_SUBMISSIONS, MOST_SHOWN = 1000, 200
"""Of an account: for a round, and on its page, which one thread draws for everybody."""


@dataclasses.dataclass(frozen=True)
class User:
    """Somebody who is logged in."""

    name: str
    instructor: bool = False


@dataclasses.dataclass(frozen=True)
class Anchor:
    """An opponent for everybody: a baseline of the drill, random play, or a rung of the ladder."""

    name: str
    digest: str
    """As of a submission; of a script its name."""


@dataclasses.dataclass(frozen=True)
class Job:
    """A block that is to be played: its row, its seed's ingredients and both entries' rows."""

    id: int
    block: int
    round: Any
    first: Any
    second: Any


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a block's games came to, from the first entry's view."""

    wins: int
    draws: int
    losses: int
    replay: bytes | None
    """One game, JSON as gzip; None for a block that was forfeited."""


def commitment(secret: str) -> str:
    """The public commitment to a round's secret: its SHA-256 in hex."""
    return hashlib.sha256(secret.encode()).hexdigest()


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M:%S")


def _token_hash(token: str) -> str:
    """Tokens are 192 random bits, so a plain hash is as good as a slow one."""
    return hashlib.sha256(token.encode()).hexdigest()


class Store:
    """The league's database. `url` is one of SQLAlchemy's: `sqlite:///league.db`, `postgresql+psycopg://...`.

    Raises LeagueError if it cannot be opened, or with `create=False` if no league is in it. Every method is one
    transaction, of one moment, and may be called from any thread; it raises Unavailable, and has changed nothing, where
    the database cannot be used at the time.
    """

    def __init__(self, url: str, create: bool = True) -> None:
        self.engine = opened(url, create)
        self._reading = self.engine.execution_options(reading=True)
        if self.engine.dialect.name == "postgresql":  # in SQLite all that one transaction reads is of one moment anyway
            self._reading = self._reading.execution_options(isolation_level="REPEATABLE READ")
        self._held = threading.local()
        self._changes: collections.Counter[int] = collections.Counter()

    @contextlib.contextmanager
    def one_moment(self) -> Iterator[None]:
        """What this thread reads in the block is of one moment, whatever others write meanwhile. Nothing else may read
        on the thread until its end: no `await` in the block.
        """
        with self._reading.connect() as db:
            self._held.db = db
            try:
                yield
            finally:
                del self._held.db

    def _read(self) -> contextlib.AbstractContextManager[sql.Connection]:
        held: sql.Connection | None = getattr(self._held, "db", None)
        return self._reading.connect() if held is None else contextlib.nullcontext(held)

    def close_connections(self) -> None:
        """Close the database; SQLite then writes its log back into its file."""
        self.engine.dispose()

    # ---- settings and accounts

    def cookie_secret(self) -> str:
        """Key that signs cookies; created once and stored, so that a restart logs nobody out."""
        with self.engine.begin() as db:
            found = db.scalar(select(settings.c.value).where(settings.c.key == "cookie_secret"))
            if found is None:
                found = secrets.token_hex(32)
                db.execute(settings.insert().values(key="cookie_secret", value=found))
            return found

    def issue_token(self, name: str, instructor: bool = False) -> str:
        """The same for one account; returns the token."""
        (token,) = self.issue_tokens([name], instructor).values()
        return token

    def issue_tokens(self, names: Sequence[str], instructor: bool = False) -> dict[str, str]:
        """New tokens by the accounts' names, in Unicode's form NFC; accounts are created if necessary, and old tokens
        become invalid. All are made or none.

        Raises LeagueError for a name that is empty, too long or has control characters, for one that stands twice, and
        for a student's token of somebody who is an instructor.
        """
        names = [unicodedata.normalize("NFC", name) for name in names]
        twice = [name for name, count in collections.Counter(names).items() if count > 1]
        if twice:
            raise LeagueError(
                f"{', '.join(repr(name[:40]) for name in twice[:5])} is listed twice, and one name is one account: "
                "tell them apart, by an initial or a number"
            )
        tokens = {name: secrets.token_hex(24) for name in names}  # none begins like a flag
        with self.engine.begin() as db:
            for name, token in tokens.items():
                account = self._account(db, name)
                if not instructor and db.scalar(select(accounts.c.instructor).where(accounts.c.id == account)):
                    raise LeagueError(f"{name!r} is an instructor: tick 'as instructors', or choose another name")
                row = accounts.update().where(accounts.c.name == name)
                db.execute(row.values(token_hash=_token_hash(token), instructor=instructor))
        return tokens

    def whose(self, token: str) -> User | None:
        """The account of a token."""
        with self._read() as db:
            query = select(accounts.c.name, accounts.c.instructor).where(accounts.c.token_hash == _token_hash(token))
            found = db.execute(query).one_or_none()
        return None if found is None else User(found.name, found.instructor)

    def has_instructor(self) -> bool:
        """Whether there is an instructor's token."""
        with self._read() as db:
            query = select(accounts.c.id).where(accounts.c.instructor, accounts.c.token_hash.is_not(None))
            return db.scalar(query.limit(1)) is not None

    def names(self) -> list[str]:
        """All accounts except instructors'."""
        with self._read() as db:
            query = select(accounts.c.name).where(~accounts.c.instructor).order_by(accounts.c.name)
            return list(db.scalars(query))

    def _account(self, db: sql.Connection, name: str) -> int:
        if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable() or name != name.strip():
            raise LeagueError(
                f"a name must have 1 to {LONGEST_NAME} printable characters and no spaces at its ends; got "
                f"{name[:40]!r}"
            )
        query = select(accounts.c.id).where(accounts.c.name == name)
        found = db.scalar(query)
        if found is not None:
            return found
        try:
            with db.begin_nested():
                db.execute(accounts.insert().values(name=name, instructor=False))
        except sql.exc.IntegrityError:  # another request created it in between
            pass
        return db.execute(query).scalar_one()

    # ---- rounds

    def open_round(
        self, title: str, drill: str, rules_hash: str, anchors: Sequence[str], blocks: int, publish: bool
    ) -> int:
        """Open a round; returns its number. Raises LeagueError for a title that is empty or too long, and for blocks
        that are not 1 to `MOST_BLOCKS`: a round without any would never end.
        """
        if not title.strip() or len(title) > LONGEST_TITLE:
            raise LeagueError(f"a title must have 1 to {LONGEST_TITLE} characters; got {title[:90]!r}")
        count = finite(blocks)
        if count is None or count != int(count) or not 1 <= count <= MOST_BLOCKS:
            raise LeagueError(f"blocks must be a whole number from 1 to {MOST_BLOCKS}, got {repr(blocks)[:20]}")
        row: dict[str, Any] = {
            "title": title.strip(),
            "drill": drill,
            "rules_hash": rules_hash,
            "anchors": json.dumps(list(anchors)),
        }
        row |= {"blocks": int(count), "publish": publish, "state": OPEN, "opened": now()}
        with self.engine.begin() as db:
            return _insert(db, rounds, {**row, "secret": secrets.token_hex(SECRET_BYTES)})

    def rounds(self) -> list[Any]:
        """All rounds, newest first."""
        with self._read() as db:
            return list(db.execute(select(rounds).order_by(rounds.c.id.desc())))

    def round(self, number: int) -> Any:
        """One round; raises NoSuchRound if there is none."""
        with self._read() as db:
            return self._round(db, number)

    def _round(self, db: sql.Connection, number: int, lock: bool = False) -> Any:
        query = select(rounds).where(rounds.c.id == number)
        found = db.execute(query.with_for_update() if lock else query).one_or_none()
        if found is None:
            raise NoSuchRound(f"there is no round {number}")
        return found

    @staticmethod
    def _finish_if_played(db: sql.Connection, number: int) -> None:
        """One block that is left says no: to count a million of them at each would take a tenth of a second."""
        left = select(matches.c.id).where(matches.c.round_id == number, ~matches.c.played).limit(1)
        if db.scalar(left) is None:
            db.execute(rounds.update().where(rounds.c.id == number).values(state=FINISHED))

    def submit(
        self,
        number: int,
        name: str,
        version: int,
        step: int,
        digest: str,
        content: bytes,
        instructor: bool | None = None,
    ) -> int:
        """Add a policy to an open round; returns the submission's number. The bytes of the account's earlier ones,
        which nobody needs any more, are dropped. `instructor`: whether a hub says that the account is one; None: it is
        what it was made as. Raises LeagueError once the round is closed, and for more than `MOST_SUBMISSIONS`.
        """
        with self.engine.begin() as db:
            if self._round(db, number, lock=True).state != OPEN:
                raise LeagueError(f"round {number} is closed and accepts no more policies")
            row = {"round_id": number, "account_id": self._account(db, name), "received": now()}
            row |= {"version": version, "step": step, "digest": digest, "content": content}
            earlier = submissions.c.round_id == number, submissions.c.account_id == row["account_id"]
            if (db.scalar(select(func.count()).select_from(submissions).where(*earlier)) or 0) >= MOST_SUBMISSIONS:
                raise LeagueError(
                    f"you have handed in {MOST_SUBMISSIONS} policies for round {number}, and the last one counts: ask "
                    "your instructor for a new round"
                )
            if instructor is not None:
                db.execute(accounts.update().where(accounts.c.id == row["account_id"]).values(instructor=instructor))
            db.execute(submissions.update().where(*earlier).values(content=b""))
            return _insert(db, submissions, row)

    def close_round(self, number: int, anchors: Sequence[Anchor]) -> int:
        """Close an open round: everybody's newest submission and the anchors are its entries, and all blocks that are
        to be played are written down. Returns how many. Raises LeagueError where it is not open or nobody takes part.
        """
        with self.engine.begin() as db:
            found = self._round(db, number, lock=True)
            if found.state != OPEN:
                raise LeagueError(f"round {number} is not open")
            newest = select(func.max(submissions.c.id)).where(submissions.c.round_id == number)
            query = select(submissions.c.id, submissions.c.digest, accounts.c.name, accounts.c.instructor).join(
                accounts
            )
            query = query.where(submissions.c.id.in_(newest.group_by(submissions.c.account_id)))
            taken = sorted(db.execute(query), key=lambda row: row.name)  # by code point, on every database
            if not taken:
                raise LeagueError(f"nobody has sent a policy to round {number} yet")
            none = {"anchor": True, "submission_id": None, "instructor": False}
            rows = [{"name": a.name, "digest": a.digest, **none} for a in anchors]
            rows += [
                {"name": s.name, "digest": s.digest, "anchor": False, "submission_id": s.id, "instructor": s.instructor}
                for s in taken
            ]
            blocks = self._schedule(db, found, rows)
        self._changes[number] += 1  # never before the commit: a reader would keep the old table for the new number
        return blocks

    def rerun(self, number: int) -> int:
        """A new round between the same entries with fresh seeds; returns its number. Raises LeagueError while the round
        is open.
        """
        with self.engine.begin() as db:
            found = self._round(db, number)
            if found.state == OPEN:
                raise LeagueError(f"round {number} is still open: close it first")
            again = {key: value for key, value in found._mapping.items() if key not in ("id", "closed")}
            again |= {"title": f"{found.title[: LONGEST_TITLE - 7]}, again", "secret": secrets.token_hex(SECRET_BYTES)}
            again |= {"state": OPEN, "opened": now()}
            fresh = self._round(db, _insert(db, rounds, again))
            kept = db.execute(select(entries).where(entries.c.round_id == number).order_by(entries.c.place))
            columns = ("name", "anchor", "digest", "submission_id", "instructor")
            self._schedule(db, fresh, [{key: getattr(row, key) for key in columns} for row in kept])
        self._changes[fresh.id] += 1
        return int(fresh.id)

    def changes(self, number: int) -> int:
        """How often entries or results of a round have changed since this process began: equal numbers, equal tables.
        Only one process plays and answers.
        """
        return self._changes[number]

    def _schedule(self, db: sql.Connection, found: Any, rows: list[dict[str, Any]]) -> int:
        db.execute(entries.insert(), [{**row, "round_id": found.id, "place": k} for k, row in enumerate(rows)])
        query = select(entries.c.id).where(entries.c.round_id == found.id).order_by(entries.c.place)
        ids = list(db.scalars(query))
        pairs = [(first, second) for k, first in enumerate(ids) for second in ids[k + 1 :]]
        for block in range(found.blocks):  # one after the other: a large round has a million
            common = {"round_id": found.id, "block": block, "played": False}
            db.execute(matches.insert(), [{**common, "first_id": a, "second_id": b} for a, b in pairs])
        db.execute(rounds.update().where(rounds.c.id == found.id).values(state=PLAYING, closed=now()))
        return len(pairs) * found.blocks

    # ---- matches

    def next_job(self, after: int = 0, without: Collection[int] = ()) -> Job | None:
        """The first block above the number `after` that is still to be played, of none of the rounds `without`."""
        with self._read() as db:
            left = select(matches).where(~matches.c.played, matches.c.id > after)
            left = left.where(matches.c.round_id.not_in(list(without)))
            row = db.execute(left.order_by(matches.c.id).limit(1)).one_or_none()
            if row is None:
                return None
            pair = {e.id: e for e in db.execute(select(entries).where(entries.c.id.in_([row.first_id, row.second_id])))}
            return Job(row.id, row.block, self._round(db, row.round_id), pair[row.first_id], pair[row.second_id])

    def record(self, job: Job, outcome: Outcome) -> bool:
        """Write a block's result down, and finish its round with the last one; False where it was there already, or one
        of its entries was withdrawn meanwhile.
        """
        values = dataclasses.asdict(outcome)
        with self.engine.begin() as db:
            self._round(db, job.round.id, lock=True)
            mine = matches.c.id == job.id, ~matches.c.played
            if db.execute(matches.update().where(*mine).values(**values, played=True)).rowcount == 0:
                return False
            self._finish_if_played(db, job.round.id)
        self._changes[job.round.id] += 1
        return True

    def withdraw(self, number: int, name: str, while_open: bool = False) -> None:
        """Take a student's entry out of a round, with its games; of an open round, what the student has sent. Raises
        LeagueError if there is no such entry, or no other, or where the round should be open and is not.
        """
        with self.engine.begin() as db:
            found = self._round(db, number, lock=True)
            account = db.scalar(select(accounts.c.id).where(accounts.c.name == name))
            if found.state == OPEN:
                mine = submissions.c.round_id == number, submissions.c.account_id == account
                if not db.execute(submissions.delete().where(*mine)).rowcount:
                    raise LeagueError(f"{name[:40]!r} has sent nothing to round {number}")
                return
            if while_open:
                raise LeagueError(f"round {number} is closed: ask your instructor to withdraw your entry")
            rows = list(db.execute(select(entries).where(entries.c.round_id == number).order_by(entries.c.place)))
            gone = [row for row in rows if row.name == name and not row.anchor]
            if not gone or sum(not row.anchor for row in rows) < 2:
                raise LeagueError(f"{name[:40]!r} cannot be withdrawn from round {number}: no such entry, or no other")
            which = gone[0].id
            db.execute(matches.delete().where(sql.or_(matches.c.first_id == which, matches.c.second_id == which)))
            db.execute(entries.delete().where(entries.c.id == which))
            for row in rows:  # one after the other: places are unique
                if row.place > gone[0].place:
                    db.execute(entries.update().where(entries.c.id == row.id).values(place=row.place - 1))
            self._finish_if_played(db, number)
        self._changes[number] += 1

    def progress(self, number: int) -> tuple[int, int]:
        """Blocks of a round that were played, and all of them."""
        with self._read() as db:
            query = select(matches.c.played, func.count()).where(matches.c.round_id == number)
            counts = {row[0]: row[1] for row in db.execute(query.group_by(matches.c.played))}
        return counts.get(True, 0), sum(counts.values())

    def entries(self, number: int) -> list[Any]:
        """A round's entries in their places."""
        with self._read() as db:
            return list(db.execute(select(entries).where(entries.c.round_id == number).order_by(entries.c.place)))

    def entered(self, name: str) -> set[int]:
        """The rounds in which an account has an entry."""
        with self._read() as db:
            return set(db.scalars(select(entries.c.round_id).where(entries.c.name == name, ~entries.c.anchor)))

    def results(self, number: int) -> list[Any]:
        """A round's blocks that were played, without their replays, in the order of their numbers."""
        with self._read() as db:
            columns = [column for column in matches.c if column.name != "replay"]
            query = select(*columns).where(matches.c.round_id == number, matches.c.played)
            return list(db.execute(query.order_by(matches.c.id)))

    def match(self, number: int) -> tuple[Any, Any, Any, Any]:
        """A played block of a finished round: its row, round, first and second entry. Raises LeagueError for others."""
        with self._read() as db:
            row = db.execute(select(matches).where(matches.c.id == number, matches.c.played)).one_or_none()
            found = None if row is None else self._round(db, row.round_id)
            if row is None or found is None or found.state != FINISHED:
                raise LeagueError(
                    f"match {number} is not published yet: replays are published when the round is finished"
                )
            if row.replay is None:
                raise LeagueError(
                    f"match {number} was forfeited: a network took too long, so there is no game to watch"
                )
            pair = {e.id: e for e in db.execute(select(entries).where(entries.c.id.in_([row.first_id, row.second_id])))}
            return row, found, pair[row.first_id], pair[row.second_id]

    # ---- submissions

    def content(self, submission: int) -> bytes:
        """The policy of a submission, as a `.dshq` file."""
        with self._read() as db:
            return db.execute(select(submissions.c.content).where(submissions.c.id == submission)).scalar_one()

    def published(self, number: int, digest: str) -> bytes:
        """An entry's policy in a finished round that publishes them; raises LeagueError for others."""
        with self._read() as db:
            found = self._round(db, number)
            query = select(submissions.c.content).join(entries, entries.c.submission_id == submissions.c.id)
            query = query.where(entries.c.round_id == number, entries.c.digest == digest).limit(1)
            content = db.scalar(query)
        if content is None or found.state != FINISHED or not found.publish:
            raise LeagueError(f"round {number} has no published policy {digest[:12]}")
        return content

    def received(self, number: int) -> dict[str, int]:
        """Submissions to a round by account, in all."""
        with self._read() as db:
            query = select(accounts.c.name, func.count()).select_from(submissions.join(accounts))
            query = query.where(submissions.c.round_id == number).group_by(accounts.c.name)
            return {row[0]: row[1] for row in db.execute(query)}

    def history(self, name: str) -> list[Any]:
        """An account's newest submissions, the last one first, without their bytes but with the round's title and
        state. One that plays in rounds that were played again stands there for each of these, too. `MOST_SHOWN` rows.
        """
        with self._read() as db:
            columns = [column for column in submissions.c if column.name not in ("content", "round_id")]
            row = select(*columns, rounds.c.id.label("round_id"), rounds.c.title, rounds.c.state)
            sent = row.select_from(submissions.join(accounts).join(rounds, rounds.c.id == submissions.c.round_id))
            entered = entries.join(submissions, submissions.c.id == entries.c.submission_id)
            again = row.select_from(entered.join(rounds, rounds.c.id == entries.c.round_id))
            again = again.where(entries.c.name == name, entries.c.round_id != submissions.c.round_id)
            both = sql.union_all(sent.where(accounts.c.name == name), again).subquery().c
            return list(db.execute(select(*both).order_by(both.id.desc(), both.round_id.desc()).limit(MOST_SHOWN)))


def _insert(db: sql.Connection, table: sql.Table, row: dict[str, Any]) -> int:
    """The number of the new row."""
    key = db.execute(table.insert().values(**row)).inserted_primary_key
    assert key is not None
    return int(key[0])
