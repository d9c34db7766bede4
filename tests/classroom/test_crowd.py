"""A league in use: a class at once, hostile files among its uploads, kill -9 in the middle of a round."""

import os
import pickle
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")


from dshq_widget.classroom import rounds
from dshq_widget.classroom.store import FINISHED, Store
from dshq_widget.policy import checkpoint
from tests.harness.apart import TESTS
from tests.harness.class_league import (
    HOSTILE,
    Person,
    Service,
    open_round,
    play_all,
    policy,
    policy_bytes,
    send,
    serving,
)
from tests.harness.counts import times
from tests.harness.recount import recount, results


class Trap:
    """Pickled, it is a file that makes another one when somebody loads it."""

    def __init__(self, sprung: Path):
        self.sprung = sprung

    def __reduce__(self) -> tuple:
        return Path.touch, (self.sprung,)


def crowd(service: Service, store: Store, accounts: int, uploads: int, sprung: Path) -> None:
    """`uploads` policies and hostile files from `accounts` accounts at once; then the round, and it is all right."""
    pickle.loads(trap := pickle.dumps(Trap(sprung)))
    sprung.unlink()
    hostile = (trap, *HOSTILE)
    number = open_round(store, anchors=["random"])
    tokens = {f"student {k:03}": store.issue_token(f"student {k:03}") for k in range(accounts)}
    names = list(tokens)
    work = [(names[k % accounts], None if k % 5 == 4 else k) for k in range(uploads)]
    files = {seed: policy_bytes(seed) for _, seed in work if seed is not None}

    def one(job: tuple[int, tuple[str, int | None]]) -> tuple[str, int, dict]:
        k, (name, seed) = job
        content = hostile[k // 5 % len(hostile)] if seed is None else files[seed]
        answer = send(service, tokens[name], content)
        while answer[0] == 429 and "Another upload" in answer[1]["error"]:  # one of an account at a time
            answer = send(service, tokens[name], content)
        return name, *answer

    began = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(one, enumerate(work)))
    print(f"{uploads} uploads from {accounts} accounts answered in {time.monotonic() - began:.1f} s")
    assert len(answers) == uploads
    assert not sprung.exists(), "an upload was executed"
    taken: dict[str, tuple[int, str]] = {}
    for (name, seed), (_, status, answer) in zip(work, answers, strict=True):
        assert (status, "error" in answer) == ((422, True) if seed is None else (200, False)), answer
        if seed is not None:
            taken[name] = max(taken.get(name, (0, "")), (answer["submission"], answer["digest"]))
    good = sum(seed is not None for _, seed in work)
    assert sum(store.received(number).values()) == good
    store.close_round(number, rounds.anchors_of("ball", []))
    listed = {entry.name: entry.digest for entry in store.entries(number) if not entry.anchor}
    assert listed == {name: digest for name, (_, digest) in taken.items()}
    play_all(store)
    blocks, _ = recount(store, number)
    assert results(store, number) == blocks


@pytest.mark.parametrize(
    ("accounts", "uploads"), [(8, 24), pytest.param(100, 300, marks=pytest.mark.slow, id="a class of a hundred")]
)
def test_a_crowd_is_answered_and_nothing_is_lost(database: str, accounts: int, uploads: int, tmp_path: Path):
    store = Store(database)
    with Service(store, per_minute=3) as service:
        crowd(service, store, accounts, uploads, tmp_path / "sprung")
    store.close_connections()


def test_on_a_system_without_posix_it_serves_until_it_is_told_to_end(tmp_path: Path):
    environment = os.environ | {"PYTHONPATH": str(TESTS / "harness" / "processes" / "windows")}
    process, port = serving(f"sqlite:///{tmp_path}/league.db", environment)
    try:
        assert Person(port).ask("GET", "/login")[0] == 200
        process.terminate()
        assert process.wait(300) == 0
    finally:
        process.kill()
        process.stdout.close()


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
def test_killed_in_mid_round_it_goes_on_without_a_lost_or_doubled_block(database: str):
    store = Store(database)
    number = open_round(store, anchors=["random"], blocks=16)
    for k in range(4):
        saved = policy(k)
        store.submit(number, f"s{k}", 1, 0, rounds.digest(saved), checkpoint.encode(saved))
    total = store.close_round(number, rounds.anchors_of("ball", []))
    kills, wanted = 0, times(2, 1)
    process, _ = serving(database)
    try:
        deadline = time.monotonic() + 300
        while store.round(number).state != FINISHED and time.monotonic() < deadline:
            done, _ = store.progress(number)
            if kills < wanted and 5 * (kills + 1) <= done < total:  # early: most blocks are still to come, however fast
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                kills += 1
                process, _ = serving(database)
            time.sleep(0.01)
        assert store.round(number).state == FINISHED and kills == wanted
        process.terminate()
        assert process.wait(300) == 0
    finally:
        process.kill()
        process.stdout.close()
    blocks, _ = recount(store, number)
    assert len(blocks) == total == 160
    assert results(store, number) == blocks
    store.close_connections()
