"""A class that looks at its round all at once: a table is worked out once, and nobody waits."""

import asyncio
import threading
from types import SimpleNamespace

import pytest

pytest.importorskip("sqlalchemy")

from sqlalchemy import event

from dshq_widget.classroom import rounds, standings
from dshq_widget.classroom.service import pages
from dshq_widget.classroom.service.recent import Recent
from dshq_widget.classroom.store import FINISHED, PLAYING, Anchor, Outcome, Store
from tests.harness.class_league import Person, Service, open_round, record_all


class Changes:
    """A store, as far as its rounds change."""

    number = 0

    def changes(self, number: int) -> int:
        return self.number


def test_it_is_worked_out_once_until_the_round_changes():
    store, now, done = Changes(), [0.0], []
    recent = Recent(store, seconds=2.0, clock=lambda: now[0])
    playing, finished = (SimpleNamespace(id=1, state=state) for state in (PLAYING, FINISHED))

    def work_out(number: int) -> int:
        done.append(number)
        return len(done)

    async def go() -> None:
        assert await asyncio.gather(*(recent.of("table", playing, work_out) for _ in range(50))) == [1] * 50
        store.number += 1
        assert await recent.of("table", playing, work_out) == 1, "a moment ago"
        now[0] = 3.0
        assert await recent.of("table", playing, work_out) == 2
        store.number += 1
        assert await recent.of("table", finished, work_out) == 3, "the last block counts at once"
        now[0] = 1e6
        assert await recent.of("table", finished, work_out) == 3

    asyncio.run(go())


def test_a_students_page_has_the_results_of_the_newest_rounds(store, monkeypatch):
    """Those of a whole year were worked out at each look, for eight seconds."""
    monkeypatch.setattr(pages, "MOST_RESULTS", 2)
    for _ in range(3):
        number = open_round(store)
        store.submit(number, "ada", 1, 0, "d", b"")
        store.close_round(number, rounds.anchors_of("ball", []))
        record_all(store, Outcome(16, 8, 8, b""))
    with Service(store) as service:
        text = Person(service.port).log_in(store.issue_token("ada")).get("/student")
    assert text.count("1 of 1, Elo") == 2 and text.count("in the round&#x27;s table") == 1


def test_of_many_rounds_the_results_of_the_newest_are_kept():
    """A table of 300 students has megabytes, and everybody may look at each of many rounds."""
    recent, played, done = Recent(Changes()), [SimpleNamespace(id=k, state=FINISHED) for k in range(5)], []

    async def go() -> None:
        for found in (*played, *reversed(played)):
            await recent.of("progress", found, lambda number: number)
            await recent.of("table", found, done.append, 3)
        assert done == [0, 1, 2, 3, 4, 1, 0]
        assert sorted(recent._kept) == [*(("progress", k) for k in range(5)), *(("table", k) for k in (2, 3, 4))]

    asyncio.run(go())


def test_who_looks_at_every_round_again_and_again_keeps_nobody_from_handing_in():
    """Of more rounds than are kept each look made another table: a student with ten requests a second, each of which
    was broken off at once, kept the whole class from everything for minutes.
    """
    recent, asked, over = Recent(Changes()), [], threading.Event()
    rounds_of = [SimpleNamespace(id=k, state=PLAYING if k == 0 else FINISHED) for k in range(5)]

    def work_out(number: int) -> int:
        asked.append(number)
        assert over.wait(60)
        return number

    async def go() -> None:
        looks = [asyncio.ensure_future(recent.of("table", found, work_out, 2)) for found in 40 * rounds_of]
        await asyncio.sleep(0)
        for look in looks[:100]:
            look.cancel()
        assert await recent.of("progress", rounds_of[0], lambda number: number) == 0
        assert await asyncio.to_thread(int) == 0
        over.set()
        assert [await look for look in looks[100:]] == 20 * list(range(5))
        assert asked == list(range(5)), "each is worked out once"

    asyncio.run(go())


def test_a_table_that_takes_longer_than_it_is_kept_is_worked_out_once_at_a_time():
    now, asked, over = [0.0], [], threading.Event()
    store = Changes()
    recent, found = Recent(store, seconds=2.0, clock=lambda: now[0]), SimpleNamespace(id=1, state=PLAYING)

    async def go() -> None:
        looks = []
        for _ in range(5):
            looks.append(asyncio.ensure_future(recent.of("table", found, lambda _: asked.append(over.wait(60)))))
            await asyncio.sleep(0)
            store.number, now[0] = store.number + 1, now[0] + 3.0
        over.set()
        await asyncio.gather(*looks)
        assert asked == [True]

    asyncio.run(go())


def test_an_error_is_not_kept():
    recent, found = Recent(Changes()), SimpleNamespace(id=1, state=FINISHED)

    async def go() -> None:
        with pytest.raises(ZeroDivisionError):
            await recent.of("table", found, lambda number: number / 0)
        assert await recent.of("table", found, lambda number: number) == 1

    asyncio.run(go())


def test_the_store_says_what_changes_a_table(store: Store):
    number = open_round(store)
    for name in ("ada", "ben"):
        store.submit(number, name, 1, 1, name, b"")
    seen = [store.changes(number)]

    def changed() -> bool:
        seen.append(store.changes(number))
        return seen[-1] != seen[-2]

    store.close_round(number, [Anchor("random", "random")])
    assert changed()
    job = store.next_job()
    assert store.record(job, Outcome(16, 0, 16, None)) and changed()
    assert not store.record(job, Outcome(16, 0, 16, None)) and not changed()
    store.withdraw(number, "ben")
    assert changed() and not changed()
    assert store.changes(store.rerun(number)) == 1


def test_a_change_is_counted_once_others_see_it(store: Store):
    """Else a reader would keep the table from before under the number from after."""
    number = open_round(store)
    for name in ("ada", "ben"):
        store.submit(number, name, 1, 1, name, b"")
    counted: list[int] = []
    event.listen(store.engine, "commit", lambda _: counted.append(sum(store._changes.values())))
    store.close_round(number, [Anchor("random", "random")])
    store.record(store.next_job(), Outcome(16, 0, 16, None))
    store.withdraw(number, "ben")
    store.rerun(number)
    assert counted == [0, 1, 2, 3] and sum(store._changes.values()) == 4


def test_others_are_answered_while_a_table_is_worked_out_and_while_accounts_are_made(store: Store, monkeypatch):
    number = open_round(store)
    store.submit(number, "ada", 1, 1, "a1", b"")
    store.close_round(number, [Anchor("random", "random")])
    going, over = threading.Event(), threading.Event()
    table, issue = standings.table, Store.issue_tokens

    def slow_table(*rows):
        going.set()
        assert over.wait(60)
        return table(*rows)

    def slow_issue(self, names, instructor=False):
        if len(names) > 1:
            going.set()
            assert over.wait(60)
        return issue(self, names, instructor)

    ada, prof = store.issue_token("ada"), store.issue_token("prof", instructor=True)
    monkeypatch.setattr(standings, "table", slow_table)
    monkeypatch.setattr(Store, "issue_tokens", slow_issue)
    with Service(store) as service:
        student, teacher = Person(service.port).log_in(ada), Person(service.port).log_in(prof)
        for ask in (
            lambda: student.get(f"/round/{number}"),
            lambda: teacher.fill_in("/teach/students", "/teach", names="cleo\ndan"),
        ):
            going.clear()
            over.clear()
            waiting = threading.Thread(target=ask)
            waiting.start()
            try:
                assert going.wait(60)
                assert "Send a policy" not in Person(service.port).log_in(ada).get("/")
                assert waiting.is_alive()
            finally:
                over.set()
                waiting.join(60)
    assert store.names() == ["ada", "cleo", "dan"]


def test_two_thousand_accounts_are_one_transaction(store: Store):
    names = [f"s{k}" for k in range(2000)]
    begun: list[object] = []
    event.listen(store.engine, "begin", begun.append)
    tokens = store.issue_tokens(names)
    assert len(begun) == 1
    assert len(set(tokens.values())) == 2000 and store.whose(tokens["s1999"]).name == "s1999"
