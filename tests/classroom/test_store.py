"""The league's memory, on SQLite and on PostgreSQL: rounds, submissions, blocks that count once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dshq_widget.classroom.errors import LeagueError, Unavailable

pytest.importorskip("sqlalchemy")

import sqlalchemy as sql

from dshq_widget.classroom import store as stores
from dshq_widget.classroom.database import migrations
from dshq_widget.classroom.service.page import Standing
from dshq_widget.classroom.store import (
    FINISHED,
    OPEN,
    PLAYING,
    Anchor,
    Outcome,
    Store,
    User,
    commitment,
)

RANDOM = [Anchor("random", "random")]


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    store = Store(database)
    yield store
    store.close_connections()


def a_round(store: Store, blocks: int = 2) -> int:
    return store.open_round("Round 1", "ball", "0123", ["random"], blocks, publish=True)


def send(store: Store, number: int, name: str, digest: str, version: int = 1) -> int:
    return store.submit(number, name, version, 10**15, digest, digest.encode())


def test_the_newest_submission_of_everybody_plays(store: Store):
    number = a_round(store)
    for name, digest in (("ada", "a1"), ("bob", "b1"), ("ada", "a2")):
        send(store, number, name, digest)
    assert store.received(number) == {"ada": 2, "bob": 1} and store.names() == ["ada", "bob"]
    assert store.round(number).state == OPEN
    assert store.close_round(number, RANDOM) == 2 * 3
    found = [(entry.place, entry.name, entry.anchor, entry.digest) for entry in store.entries(number)]
    assert found == [(0, "random", True, "random"), (1, "ada", False, "a2"), (2, "bob", False, "b1")]
    assert [(row.digest, row.round_id, row.step) for row in store.history("ada")] == [
        ("a2", number, 10**15),
        ("a1", number, 10**15),
    ]
    assert store.round(number).state == PLAYING


def test_a_block_counts_once(store: Store):
    number = a_round(store)
    send(store, number, "ada", "a1")
    store.close_round(number, RANDOM)
    played: list[tuple] = []
    while (job := store.next_job()) is not None:
        assert store.record(job, Outcome(len(played), 2, 3, b"replay"))
        assert not store.record(job, Outcome(31, 31, 31, b"again"))
        played.append(job.block)
        assert store.progress(number) == (len(played), 2)
    assert played == [0, 1]
    assert [(row.wins, row.draws, row.losses) for row in store.results(number)] == [(0, 2, 3), (1, 2, 3)]
    assert store.round(number).state == FINISHED
    row, found, first, second = store.match(store.results(number)[0].id)
    assert (row.replay, found.id, first.name, second.name) == (b"replay", number, "random", "ada")


def test_a_result_that_comes_late_is_no_other_blocks(store: Store):
    """An entry is withdrawn, and another round closed, while one of its blocks is played. A match's number is its
    address, so it is given once.
    """
    number, later = a_round(store, blocks=1), a_round(store, blocks=1)
    for k in (number, later):
        for name in ("ada", "bob"):
            send(store, k, name, f"{name} {k}")
    store.close_round(number, RANDOM)
    jobs = []
    while (job := store.next_job(jobs[-1].id if jobs else 0)) is not None:
        jobs.append(job)
    store.withdraw(number, "bob")
    store.close_round(later, RANDOM)
    assert store.next_job(jobs[0].id).id > jobs[-1].id
    assert [store.record(job, Outcome(30, 1, 1, b"late")) for job in jobs] == [True, False, False]
    assert store.progress(later) == (0, 3) and store.round(number).state == FINISHED


class Hasty(Store):
    """A store into which somebody writes just before the results of a round are read."""

    def results(self, number):
        with ThreadPoolExecutor(1) as pool:
            pool.submit(self.meanwhile, number).result()
        return super().results(number)

    def meanwhile(self, number):
        self.withdraw(number, "bob")
        while (job := self.next_job()) is not None:
            self.record(job, Outcome(1, 1, 1, b""))


def test_a_table_is_of_one_moment(database: str):
    """An entry is withdrawn while it is read, and the last block is played."""
    store = Hasty(database)
    number = a_round(store)
    for name in ("ada", "bob", "eve"):
        send(store, number, name, name)
    store.close_round(number, RANDOM)
    found = Standing.of(store, number, str)
    assert [row.name for row in found.table.rows] == ["random", "ada", "bob", "eve"]
    assert (found.found.state, found.progress, found.table.matches.sum()) == (PLAYING, (0, 12), 0)
    store.meanwhile = lambda number: None
    found = Standing.of(store, number, str)
    assert (found.found.state, found.progress, found.table.matches.sum()) == (FINISHED, (6, 6), 2 * 6 * 3)
    assert {row.name for row in found.table.rows} == {"random", "ada", "eve"}
    store.close_connections()


def test_two_who_play_at_once_finish_a_round_together(store: Store):
    number = a_round(store, blocks=8)
    for name in ("ada", "bob", "eve"):
        send(store, number, name, name)
    total = store.close_round(number, RANDOM)

    def play(_: int) -> int:
        mine = 0
        while (job := store.next_job()) is not None:
            mine += store.record(job, Outcome(1, 1, 1, b""))
        return mine

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(play, range(4))) == total == 48
    assert store.round(number).state == FINISHED and len(store.results(number)) == total


def test_many_send_at_once_and_none_is_lost(store: Store):
    number = a_round(store)
    names = [f"student {k % 20}" for k in range(100)]
    with ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda k: send(store, number, names[k], f"{k}"), range(100)))
    assert len(set(numbers)) == 100
    assert store.received(number) == dict.fromkeys(names, 5)
    store.close_round(number, RANDOM)
    newest = {names[k]: f"{k}" for k in sorted(range(100), key=lambda k: numbers[k])}
    assert {entry.name: entry.digest for entry in store.entries(number) if not entry.anchor} == newest


def test_what_is_refused(store: Store):
    number = a_round(store)
    with pytest.raises(LeagueError, match="nobody has sent a policy"):
        store.close_round(number, RANDOM)
    with pytest.raises(LeagueError, match="still open: close it first"):
        store.rerun(number)
    for name in ("", " ada", "a\nb", "x" * 256):
        with pytest.raises(LeagueError, match="a name must have 1 to 255 printable characters"):
            send(store, number, name, "d")
    send(store, number, "ada", "a1")
    with pytest.raises(LeagueError, match="has no published policy"):
        store.published(number, "a1")
    store.close_round(number, RANDOM)
    with pytest.raises(LeagueError, match="is closed and accepts no more"):
        send(store, number, "ada", "a2")
    with pytest.raises(LeagueError, match="is not open"):
        store.close_round(number, RANDOM)
    with pytest.raises(LeagueError, match="there is no round 77"):
        store.round(77)
    with pytest.raises(LeagueError, match="not published"):
        store.match(store.next_job().id)
    store.issue_token("prof", instructor=True)
    with pytest.raises(LeagueError, match="'prof' is an instructor: tick 'as instructors', or choose another name"):
        store.issue_token("prof")
    with pytest.raises(LeagueError, match="a title must have 1 to 80"):
        store.open_round(" ", "ball", "0123", [], 1, False)


def test_submissions_of_an_account_are_bounded_and_so_are_those_that_are_shown(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(stores, "MOST_SUBMISSIONS", 5)
    monkeypatch.setattr(stores, "MOST_SHOWN", 3)
    number = a_round(store)
    sent = [send(store, number, "ada", f"{k}") for k in range(5)]
    with pytest.raises(LeagueError, match="you have handed in 5 policies for round 1, and the last one counts"):
        send(store, number, "ada", "one more")
    send(store, number, "bob", "b")
    assert [row.id for row in store.history("ada")] == sent[:1:-1]


def test_a_round_again_has_the_same_entries_and_other_seeds(store: Store):
    number = a_round(store)
    send(store, number, "ada", "a1")
    store.close_round(number, RANDOM)
    again = store.rerun(number)
    assert again != number and store.round(again).title == "Round 1, again"
    assert [(e.name, e.digest) for e in store.entries(again)] == [(e.name, e.digest) for e in store.entries(number)]
    secrets = [store.round(k).secret for k in (number, again)]
    assert len(set(secrets)) == len({commitment(secret) for secret in secrets}) == 2
    assert store.progress(again) == (0, 2)


def test_tokens_are_known_by_their_hash_only(store: Store):
    old = store.issue_token("ada")
    assert store.whose(old) == User("ada") and not store.has_instructor()
    new = store.issue_token("ada", instructor=True)
    assert store.whose(old) is None and store.whose(new) == User("ada", True) and store.has_instructor()
    with pytest.raises(LeagueError, match="is an instructor"):
        store.issue_token("ada")
    with store.engine.connect() as db:
        assert new not in str(db.exec_driver_sql("SELECT * FROM accounts").all())
    assert store.cookie_secret() == store.cookie_secret()


def test_databases_that_cannot_be_opened(tmp_path: Path):
    for url in (f"sqlite:///{tmp_path}/no/such/league.db", "nonsense", "postgresql+nodriver://x"):
        with pytest.raises(LeagueError, match="cannot open the database"):
            Store(url)


def test_a_database_of_a_release_that_gave_it_no_number_is_migrated(database: str):
    """Release 0.1.0 kept what a student had replaced. (tests/formats has a database that it made.)"""
    store = Store(database)
    number = a_round(store)
    for digest in ("a1", "a2"):
        send(store, number, "ada", digest)
    with store.engine.begin() as db:
        db.execute(sql.text("UPDATE submissions SET content = :old WHERE digest = 'a1'"), {"old": b"a1"})
        db.execute(sql.text("DELETE FROM settings"))
        db.execute(sql.text("ALTER TABLE entries DROP COLUMN instructor"))
    store.close_connections()
    for _ in range(2):
        again = Store(database)
        assert [again.content(row.id) for row in again.history("ada")] == [b"a2", b""]
        with again.engine.connect() as db:
            assert db.scalar(sql.text("SELECT value FROM settings WHERE key = 'schema'")) == str(migrations.SCHEMA)
        again.close_connections()


def test_whose_an_entry_is_stays_as_it_was_when_its_round_was_closed(store: Store, database: str):
    """The role of an account is the league's own, or what a hub says when it hands in."""
    number = a_round(store)
    store.issue_token("prof", instructor=True)
    for name in ("ada", "prof"):
        send(store, number, name, name)
    for name, role in (("hubs", True), ("left", True), ("left", False)):
        store.submit(number, name, 1, 1, name, b"", role)
    store.close_round(number, RANDOM)

    def instructors(store: Store, number: int) -> list[str]:
        return [entry.name for entry in store.entries(number) if entry.instructor]

    assert instructors(store, number) == ["hubs", "prof"] == instructors(store, store.rerun(number))
    store.issue_token("ada", instructor=True)
    assert instructors(store, number) == ["hubs", "prof"]
    with store.engine.begin() as db:  # schema 1 did not say it
        db.execute(sql.text("UPDATE settings SET value = '1' WHERE key = 'schema'"))
        db.execute(sql.text("ALTER TABLE entries DROP COLUMN instructor"))
    store.close_connections()
    again = Store(database)
    assert instructors(again, number) == ["ada", "hubs", "prof"], "what accounts are now"
    assert send(again, a_round(again), "ada", "a2") and not again.entries(number)[0].instructor
    again.close_connections()


def test_a_disk_that_is_full_at_a_page_of_the_database(tmp_path: Path):
    """A submission is there whole or not at all, and the next one is taken once there is room again."""
    store = Store(f"sqlite:///{tmp_path}/league.db")
    number = store.open_round("Week 1", "ball", "0123", ["random"], 1, True)
    store.submit(number, "ada", 1, 1, "a1", b"first")
    with store.engine.begin() as db:
        pages = db.exec_driver_sql("PRAGMA page_count").scalar()

    @sql.event.listens_for(store.engine, "begin", insert=True)
    def hold(connection) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + room}")

    refused, room = 0, 0
    while room < 14:  # in pages of 4 KB; the policy needs about ten
        try:
            store.submit(number, "ada", 2, 2, "a2", bytes(40_000))
            break
        except Unavailable as error:
            assert "(database or disk is full), and nothing was changed" in str(error)
            refused, room = refused + 1, room + 1
            assert [(row.digest, store.content(row.id)) for row in store.history("ada")] == [("a1", b"first")]
    assert refused >= 5
    assert [(row.digest, len(store.content(row.id))) for row in store.history("ada")] == [("a2", 40_000), ("a1", 0)]
    store.close_connections()
