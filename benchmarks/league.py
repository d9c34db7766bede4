"""A class hands in at once: 300 policies from 100 accounts, every fifth of them hostile, to `dshq league serve`.

`python -m benchmarks.league` writes benchmarks/results/league-*.json: seconds until all are answered, seconds of each
answer, and how many were taken and refused. Sixteen clients send at a time, each request on a connection of its own, on
the same processors as the service. Two floors of the same run: the login page asked for as often in the same way, which
is the web framework's part, and reading and judging the same files in this process, one after the other.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from benchmarks.machine import describe, write
from dshq_widget.classroom.store import Store
from dshq_widget.policy import checkpoint
from tests.harness.class_league import HOSTILE, Person, open_round, policy_bytes, serving

CLIENTS = 16


def ask(port: int, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, float]:
    """Status of the answer, and seconds until it was there."""
    began = time.perf_counter()
    status, _, _ = Person(port).ask(method, path, body, **headers)
    return status, time.perf_counter() - began


def crowd(one: Callable[[int], tuple[int, float]], count: int) -> dict[str, object]:
    """Makes `count` requests, CLIENTS at a time."""
    began = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(one, range(count)))
    seconds = sorted(answer[1] for answer in answers)
    return {
        "seconds": time.perf_counter() - began,
        "median_seconds": statistics.median(seconds),
        "slowest_seconds": seconds[-1],
        "statuses": dict(Counter(str(status) for status, _ in answers)),
    }


def judged(content: bytes) -> None:
    """What the service's reading of one file comes to."""
    with suppress(checkpoint.CheckpointError):
        checkpoint.decode(content)


def measure(accounts: int, uploads: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        database = f"sqlite:///{Path(folder)}/league.db"
        store = Store(database)
        number = open_round(store)
        tokens = [store.issue_token(f"student {k:03}") for k in range(accounts)]
        files = [HOSTILE[k // 5 % len(HOSTILE)] if k % 5 == 4 else policy_bytes(k) for k in range(uploads)]
        process, port = serving(database)
        with process:
            try:
                ask(port, "GET", "/login")
                pages = crowd(lambda k: ask(port, "GET", "/login"), uploads)
                began = time.perf_counter()
                for content in files:
                    judged(content)
                judging = time.perf_counter() - began
                sent = crowd(
                    lambda k: ask(port, "POST", "/submit", files[k], Authorization=f"token {tokens[k % accounts]}"),
                    uploads,
                )
            finally:
                process.terminate()
        kept = sum(store.received(number).values())
        store.close_connections()
    return {
        "accounts": accounts,
        "uploads": sent | {"sent": uploads, "kept": kept, "hostile": sum(k % 5 == 4 for k in range(uploads))},
        "floor_login_pages": pages,
        "floor_reading_the_files_seconds": judging,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accounts", type=int, default=100)
    parser.add_argument("--uploads", type=int, default=300)
    arguments = parser.parse_args()
    result = {"machine": describe(), "clients": CLIENTS} | measure(arguments.accounts, arguments.uploads)
    print(result)
    print(write("league", result))


if __name__ == "__main__":
    main()
