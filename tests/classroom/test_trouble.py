"""A league whose database cannot be used for a while, and one that meets the same problem again and again."""

import contextlib
import gzip
import json
import sqlite3
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

from sqlalchemy import event
from sqlalchemy.pool import QueuePool

from dshq_widget.classroom import block_player, rounds
from dshq_widget.classroom import referee as referees
from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.once import AWAY_SECONDS, MOST, Once
from dshq_widget.classroom.referee import Referee, RefereeThread
from dshq_widget.classroom.store import FINISHED, Anchor, Outcome, Store
from tests.harness.class_league import Person, Service, open_round, policy, policy_bytes, send
from tests.harness.processes.faults import until


@pytest.fixture
def impatient(store: Store) -> None:
    """A store that waits a moment for another writer, not half a minute."""
    event.listen(store.engine, "connect", lambda connection, _: connection.execute("PRAGMA busy_timeout=20"))
    store.engine.dispose()


def held(folder: Path) -> sqlite3.Connection:
    """Another program that writes, until it is closed."""
    connection = sqlite3.connect(folder / "league.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    return connection


def test_a_database_that_is_held_or_full_is_answered_with_a_sentence(store: Store, impatient, tmp_path: Path, caplog):
    number = open_round(store)
    tokens = {name: store.issue_token(name, name == "prof") for name in ("ada", "prof")}
    with Service(store) as service:
        teacher = Person(service.port).log_in(tokens["prof"])
        room = [1_000_000]
        event.listen(
            store.engine, "begin", lambda db: db.exec_driver_sql(f"PRAGMA max_page_count = {room[0]}"), insert=True
        )

        def refused(cause: str) -> None:
            caplog.clear()
            names = "\n".join(f"{k:0200}" for k in range(60))
            for _ in range(2):
                status, headers, text = teacher.fill_in("/teach/students", "/teach", names=names)
                assert (status, headers["Retry-After"]) == (503, "30")
                assert "cannot use its database now, and nothing was changed" in text
            status, answer = send(service, tokens["ada"], policy_bytes(0, hidden=200))
            assert status == 503 and "cannot use its database now" in answer["error"]
            told = [line for line in caplog.records if line.name == "dshq.league"]
            assert [line.getMessage().count(cause) for line in told] == [1]
            assert "Traceback" not in caplog.text
            assert "Rounds" in teacher.get("/") and "prof" not in store.names()

        other = held(tmp_path)
        refused("database is locked")
        other.close()
        room[0] = 1
        refused("database or disk is full")
        room[0] = 1_000_000
        assert teacher.fill_in("/teach/students", "/teach", names="bob")[0] == 200
        assert send(service, tokens["ada"], policy_bytes(0))[0] == 200 and store.received(number) == {"ada": 1}


def send_away(store: Store) -> None:
    """From now on its database cannot be reached."""

    def fail(*_) -> None:
        raise sqlite3.OperationalError("server closed the connection unexpectedly")

    event.listen(store.engine, "do_connect", lambda *given: fail())
    store.engine.dispose()


def test_a_database_that_is_away_is_said_on_every_page(store: Store, impatient):
    """Whoever asks is looked up in it, too."""
    with Service(store) as service:
        ada = Person(service.port).log_in(store.issue_token("ada"))
        send_away(store)
        for path in ("/", "/student", "/round/1", "/login"):
            status, _, text = ada.ask("GET", path)
            assert status == 503 and "cannot use its database now" in text, path


def test_another_error_of_a_page_is_said_without_the_database(store: Store, impatient, caplog):
    with Service(store) as service:
        ada = Person(service.port).log_in(store.issue_token("ada"))
        send_away(store)
        status, _, text = ada.ask("GET", "/nowhere")
        assert status == 404 and "Page not found" in text and "Traceback" not in caplog.text


def test_those_who_wait_for_another_program_leave_a_connection_to_those_who_read(store: Store):
    pool = store.engine.pool
    assert isinstance(pool, QueuePool)
    pool._timeout = 0.1  # of waiting for a connection
    with contextlib.ExitStack() as waiting:
        for _ in range(32):  # as many threads as asyncio has at most, in the middle of something
            waiting.enter_context(store.engine.connect())
        assert store.whose("x") is None


def test_a_problem_is_logged_once_as_long_as_it_lasts():
    now = [0.0]
    once = Once(lambda: now[0])
    found = []
    for step in (0.0, 60.0, AWAY_SECONDS, AWAY_SECONDS + 1):
        now[0] += step
        found.append(once.new("a"))
    assert found == [True, False, False, True]
    assert all(once.new(f"{k}") for k in range(MOST)) and once.new("a"), "no more are remembered"


def test_a_page_that_fails_at_each_request_is_logged_once(store: Store, caplog):
    number = open_round(store)
    store.submit(number, "ada", 1, 1, "a1", b"")
    store.close_round(number, [Anchor("random", "random")])
    store.record(store.next_job(), Outcome(16, 0, 16, b"no gzip"))
    assert store.round(number).state == FINISHED
    with Service(store) as service:
        ada = Person(service.port).log_in(store.issue_token("ada"))
        assert [ada.ask("GET", f"/match/{store.results(number)[0].id}")[0] for _ in range(3)] == [500] * 3
    assert caplog.text.count("Traceback") == 1


def test_a_service_that_ends_waits_for_no_block_without_end(store: Store, monkeypatch):
    """The next one plays it."""

    endless = [sys.executable, "-c", "import time; time.sleep(600)"]
    monkeypatch.setattr(block_player, "own_python", lambda *_: endless)
    monkeypatch.setattr(referees, "STOP_SECONDS", 0.2)
    number = open_round(store, blocks=1)
    store.submit(number, "ada", 1, 1, "a1", policy_bytes(0))
    store.close_round(number, [Anchor("random", "random")])
    thread = RefereeThread(store)
    thread.start()
    playing = thread._referee._apart
    process = until(lambda: playing._process)
    ending = threading.Thread(target=thread.stop, daemon=True)
    ending.start()
    ending.join(60)
    assert not ending.is_alive() and not thread._thread.is_alive() and process.poll() is not None
    assert store.progress(number) == (0, 1)


class Broken(Referee):
    """One of which two blocks fail each time, each in its own way."""

    tries = 0  # of all of them

    def _outcome(self, job):
        Broken.tries += 1
        raise LeagueError(f"block {job.block} of round {job.round.id} is broken")


def test_a_block_that_fails_again_and_again_is_logged_once(store: Store, caplog, monkeypatch):
    monkeypatch.setattr(referees, "RETRY_SECONDS", -1.0)
    monkeypatch.setattr(referees, "IDLE_SECONDS", 0.001)
    monkeypatch.setattr(referees, "Referee", Broken)
    number = open_round(store, blocks=2)
    store.submit(number, "ada", 1, 1, "a1", b"")
    store.close_round(number, [Anchor("random", "random")])
    thread = RefereeThread(store, apart=False)
    thread.start()
    until(lambda: Broken.tries > 9)
    assert "is broken" in thread.problem and "LeagueError" not in thread.problem
    thread.stop()
    lines = [line for line in caplog.records if line.name == "dshq.league"]
    assert len(lines) == 2 and "Traceback" not in caplog.text


def test_an_anchor_of_another_release_does_not_play_under_its_name(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(referees, "RETRY_SECONDS", 1e9)
    anchors = rounds.anchors_of("ball", ["bronze"])
    for k, changed in enumerate((Anchor("bronze", "0" * 64), Anchor("sweeper", "sweeper"), anchors[1])):
        store = Store(f"sqlite:///{tmp_path}/{k}.db")
        number = open_round(store, anchors=["random", changed.name])
        store.submit(number, "ada", 1, 1, rounds.digest(policy(0)), policy_bytes(0))
        store.close_round(number, [anchors[0], changed])
        referee = Referee(store)
        if k < 2:
            with pytest.raises(LeagueError, match=f"closed with another anchor '{changed.name}'.*open a new one"):
                while referee.play_next():
                    pass
            assert changed.name in referee.problem and store.round(number).state != FINISHED
            with Service(store) as service:
                teacher = Person(service.port).log_in(store.issue_token("prof", instructor=True))
                status, _, text = teacher.fill_in("/teach/again", "/teach", round=number)
                assert status == 422 and "was closed with another anchor" in text
        else:
            assert referee.play_next()
        store.close_connections()


def test_a_match_of_other_rules_is_not_shown_as_a_wrong_one(store: Store):
    """The page would play it by the rules of this release, and say that its end is not the published one."""
    number = open_round(store)
    store.submit(number, "ada", 1, 1, rounds.digest(policy(0)), policy_bytes(0))
    store.close_round(number, rounds.anchors_of("ball", []))
    job = store.next_job()
    shown = json.loads(gzip.decompress(Referee(store)._outcome(job).replay))
    shown["rules_hash"] = "0" * 16
    store.record(job, Outcome(16, 0, 16, gzip.compress(json.dumps(shown).encode())))
    with Service(store) as service:
        text = Person(service.port).log_in(store.issue_token("ada")).get(f"/match/{job.id}")
    assert "was played by other rules of ball (0000000000000000, now " in text and "match_replay.js" not in text
    assert "Save replay" in text
