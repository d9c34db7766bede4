"""A class that looks at its league: so many pages a second, asked whether or not the last ones were answered.

`python -m benchmarks.league_pages` writes benchmarks/results/league-pages-*.json. Each student has a connection of
their own, as a browser has, and asks in turn for the table of the round that is being played and for the list of
rounds. `dshq league serve` answers, with its referee at work. Of each page the seconds from the moment it was due until
its last byte was there; `standstill_seconds` is the longest time in which nothing was answered at all.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import psutil

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.classroom import rounds
from dshq_widget.classroom.store import Store
from tests.harness.class_league import open_round, policy, policy_bytes, serving

PLAYED = 0.5
"""Share of the blocks that were played before."""


def furnished(database: str, students: int) -> tuple[int, list[str]]:
    """A league whose round is half played: its number, and the students' tokens."""
    store = Store(database)
    number = open_round(store, anchors=("random", "chaser"))
    names = [f"student {k:03}" for k in range(students)]
    tokens = store.issue_tokens(names)
    for k, name in enumerate(names):
        store.submit(number, name, 1, 1000 * k, rounds.digest(policy(k)), policy_bytes(k))
    total = store.close_round(number, rounds.anchors_of("ball", ["chaser"]))
    dice = np.random.default_rng(0)
    with store.engine.begin() as db:
        rows = [(int(n), int(32 - n)) for n in dice.integers(0, 33, round(PLAYED * total))]
        db.exec_driver_sql(
            "UPDATE matches SET played = 1, wins = ?, draws = 0, losses = ? WHERE id = ?",
            [(won, lost, k + 1) for k, (won, lost) in enumerate(rows)],
        )
    store.close_connections()
    return number, list(tokens.values())


class Student:
    """One connection, which stays open."""

    def __init__(self, port: int, token: str) -> None:
        self._port, self._head = port, f"Host: 127.0.0.1:{port}\r\nCookie: dshq-league={token}\r\n"
        self._lock = asyncio.Lock()
        self._reader: asyncio.StreamReader | None = None

    async def page(self, path: str) -> tuple[int, int]:
        """Status and bytes of a page."""
        async with self._lock:
            if self._reader is None:
                self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
            self._writer.write(f"GET {path} HTTP/1.1\r\n{self._head}\r\n".encode())
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
            length = int((re.search(r"Content-Length: (\d+)", head) or ["", "0"])[1])
            await self._reader.readexactly(length)
            return int(head.split()[1]), length


async def poll(port: int, number: int, cookies: list[str], rate: float, seconds: float) -> dict[str, object]:
    students = [Student(port, cookie) for cookie in cookies]
    loop = asyncio.get_running_loop()
    took: list[float] = []
    ends: list[float] = []
    statuses: Counter[int] = Counter()
    sizes: list[int] = []

    async def one(student: Student, path: str, due: float) -> None:
        status, length = await student.page(path)
        ends.append(loop.time())
        took.append(ends[-1] - due)
        statuses[status] += 1
        sizes.append(length)

    await asyncio.gather(*(student.page("/") for student in students[:20]))
    began, tasks = loop.time(), []
    for k in itertools.count():
        due = began + k / rate
        if due > began + seconds:
            break
        await asyncio.sleep(max(0.0, due - loop.time()))
        path = f"/round/{number}" if k % 4 else "/"
        tasks.append(asyncio.create_task(one(students[k % len(students)], path, due)))
    await asyncio.gather(*tasks)
    ends.sort()
    took.sort()
    return {
        "asked_a_second": rate,
        "answered_a_second": round(len(ends) / (ends[-1] - began), 1),
        "median_seconds": round(took[len(took) // 2], 3),
        "p99_seconds": round(took[int(0.99 * (len(took) - 1))], 3),
        "slowest_seconds": round(took[-1], 3),
        "standstill_seconds": round(max(after - before for before, after in itertools.pairwise([began, *ends])), 3),
        "statuses": dict(statuses),
        "largest_page_bytes": max(sizes),
    }


def cookie_of(database: str, token: str) -> str:
    """What the league's login form would set."""
    from tornado.web import create_signed_value

    store = Store(database)
    signed = create_signed_value(store.cookie_secret(), "dshq-league", token)
    store.close_connections()
    return signed.decode()


def measure(students: int, rate: float, seconds: float) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{Path(folder)}/league.db"
        number, tokens = furnished(database, students)
        cookies = [cookie_of(database, token) for token in tokens]
        process, port = serving(database)
        with process:
            try:
                service = psutil.Process(process.pid)
                before, began = service.cpu_times(), time.monotonic()
                found = asyncio.run(poll(port, number, cookies, rate, seconds))
                after = service.cpu_times()
                busy = (after.user + after.system - before.user - before.system) / (time.monotonic() - began)
            finally:
                process.terminate()
    return {"students": students, **found, "processors_of_the_service": round(busy, 2)}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--rate", type=float, default=100.0, help="pages a second")
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    result = {**measure(options.students, options.rate, options.seconds)}
    print(result)
    print(write("league-pages", result))


if __name__ == "__main__":
    main()
