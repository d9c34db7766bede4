"""Rounds as they are played: seeds and a table that anyone can compute, replays that anyone can check."""

import csv
import dataclasses
import gzip
import hashlib
import io
import json
import math
import types
from pathlib import Path

import numpy as np
import pytest

from dshq_widget.classroom.submit import bare

pytest.importorskip("sqlalchemy")

from dshq_widget.classroom import rounds, standings, verify_replay
from dshq_widget.classroom.errors import LeagueError
from dshq_widget.classroom.service.upload_checks import Limiter, admit
from dshq_widget.classroom.store import FINISHED, Store, commitment
from dshq_widget.env.replay import replay, state_hash
from dshq_widget.learning import elo
from dshq_widget.policy import checkpoint
from dshq_widget.policy.network import PolicySpec
from tests.harness.browser.page_code import in_node
from tests.harness.class_league import open_round, play_all, policy, policy_bytes
from tests.harness.recount import recount, results


def a_played_round(folder: Path, drill: str, anchors: list[str], blocks: int = 1) -> tuple[Store, int]:
    store = Store(f"sqlite:///{folder}/league.db")
    number = open_round(store, drill, anchors, blocks)
    for k, name in enumerate(("ada", "bob")):
        one = admit(policy_bytes(k, drill=drill))
        store.submit(number, name, one.version, one.step, one.digest, one.content)
    store.close_round(number, rounds.anchors_of(drill, anchors))
    play_all(store)
    assert store.round(number).state == FINISHED
    return store, number


@pytest.fixture(scope="module")
def ball(tmp_path_factory: pytest.TempPathFactory):
    return a_played_round(tmp_path_factory.mktemp("ball"), "ball", ["random", "chaser", "bronze"], blocks=2)


def test_the_table_is_what_anybody_computes(ball):
    store, number = ball
    blocks, points = recount(store, number)
    assert results(store, number) == blocks
    table = standings.table(store.entries(number), store.results(number))
    assert np.array_equal(table.points, points)
    games = np.full((5, 5), 64.0) - 64 * np.eye(5)
    assert np.array_equal(table.matches, games)
    rating, half = elo.ratings(points, games, np.array([1000.0, *[math.nan] * 4]))
    for row in table.rows:
        assert (row.elo, row.half) == pytest.approx((rating[row.place], half[row.place]))
        assert row.games == 256 and row.points == points[row.place].sum()
    assert [row.elo for row in table.rows] == sorted(rating, reverse=True)
    tied = len({round(row.elo, 6) for row in table.rows if row.ranked}) == 1  # about one round in forty
    assert sorted(row.rank for row in table.rows) == [0, 0, 0, 1, 1 if tied else 2]


@pytest.mark.parametrize("drill", ["ball", "sumo", "chase"])
def test_replays_end_in_the_same_state_in_python_and_in_the_page(drill: str, ball, tmp_path: Path):
    store, number = ball if drill == "ball" else a_played_round(tmp_path, drill, ["random"])
    compiled = rounds.drill_of(drill)
    trait = {"spec": compiled.spec.to_json(), "javascript": compiled.javascript}
    results = store.results(number)[::3]
    assert results
    for result in results:
        row, _, first, second = store.match(result.id)
        recording = json.loads(gzip.decompress(row.replay))
        assert state_hash(replay(compiled, recording)) == recording["sha256"]
        assert verify_replay.verify(recording) == recording["sha256"]
        assert in_node("replayedHash", trait, recording) == recording["sha256"]
        assert {recording["league"]["first"], recording["league"]["second"]} == {first.digest, second.digest}


def test_a_replay_is_checked_against_the_policies(ball, tmp_path: Path):
    store, number = ball
    row = store.results(number)[-1]
    recording = json.loads(gzip.decompress(store.match(row.id)[0].replay))
    ada, bob = (str(checkpoint.save(tmp_path / f"{k}.dshq", policy(k))) for k in (0, 1))
    assert verify_replay.verify(recording, (ada, bob)) == recording["sha256"]
    with pytest.raises(LeagueError, match="but the first entry was"):
        verify_replay.verify(recording, (bob, ada))
    with pytest.raises(LeagueError, match="play a different game"):
        verify_replay.verify({**recording, "league": {**recording["league"], "seed": 1}}, (ada, bob))
    turned = [(action + 6) % 30 for action in recording["actions"]]
    with pytest.raises(LeagueError, match="the published hash"):
        verify_replay.verify({**recording, "actions": turned})
    (tmp_path / "broken.json").write_text('{"drill": "ball"}')
    with pytest.raises(LeagueError, match="is not a league replay"):
        verify_replay.read(tmp_path / "broken.json")
    (tmp_path / "good.json").write_text(json.dumps(recording))
    assert verify_replay.read(tmp_path / "good.json") == recording


def test_seeds_stand_on_the_secret_and_nothing_is_told_before():
    seeds = {rounds.block_seed("00", "r", "a", "b", block) for block in range(50)}
    seeds |= {rounds.block_seed("01", "r", "a", "b", 0), rounds.block_seed("00", "r", "a", "c", 0)}
    assert len(seeds) == 52 and all(0 <= seed < 2**32 for seed in seeds)
    assert commitment("00") == hashlib.sha256(b"00").hexdigest()


def entry(number: int, name: str, anchor: bool = False, instructor: bool = False):
    whose = {"name": name, "anchor": anchor, "instructor": instructor}
    return types.SimpleNamespace(id=10 + number, place=number, digest=f"d{number}", **whose)


def result(first: int, second: int, wins: int, draws: int, losses: int):
    return types.SimpleNamespace(first_id=10 + first, second_id=10 + second, wins=wins, draws=draws, losses=losses)


def test_a_csv_that_no_spreadsheet_runs():
    entries = [entry(0, "random", anchor=True), entry(1, "=cmd|'/c calc'!A1"), entry(2, 'Ada "<b>", née Byron')]
    table = standings.table(entries, [result(0, 1, 0, 2, 30), result(0, 2, 10, 2, 20), result(1, 2, 20, 0, 12)])
    rows = list(csv.reader(io.StringIO(standings.as_csv(table))))
    assert rows[0] == list(standings.COLUMNS)
    assert [row[1] for row in rows[1:]] == ["'=cmd|'/c calc'!A1", 'Ada "<b>", née Byron']
    assert [row[0] for row in rows[1:]] == ["1", "2"] and rows[1][5:10] == ["51.0", "64", "50", "2", "12"]
    low, middle, high = (float(rows[1][k]) for k in (3, 2, 4))
    assert low < middle < high


def test_a_table_before_the_first_block():
    table = standings.table([entry(0, "random", anchor=True), entry(1, "ada")], [])
    assert [(row.name, row.games) for row in table.rows] == [("random", 0), ("ada", 0)]
    assert math.isinf(table.rows[1].half) and standings.table([], []).rows == []


def test_whoever_has_no_games_is_last_and_the_file_has_no_infinity():
    entries = [entry(0, "random", anchor=True), entry(1, "ada"), entry(2, "ben"), entry(3, "cleo")]
    table = standings.table(entries, [result(0, 1, 30, 0, 2), result(0, 3, 2, 0, 30)])
    assert [row.name for row in table.rows] == ["cleo", "random", "ada", "ben"]
    assert [row.rank for row in table.rows] == [1, 0, 2, 3]
    text = standings.as_csv(table)
    assert "inf" not in text and "3,ben,,,,0.0,0," in text


def test_equal_entries_share_a_rank():
    entries = [entry(0, "random", anchor=True), entry(1, "ada"), entry(2, "prof", instructor=True)]
    entries += [entry(k, name) for k, name in enumerate(("ben", "cleo", "dan", "eve"), start=3)]
    won = {1: 20, 2: 20, 3: 20, 4: 30, 5: 10}
    table = standings.table(entries, [result(0, k, 32 - wins, 0, wins) for k, wins in won.items()])
    ranks = {row.name: row.rank for row in table.rows}
    assert ranks == {"cleo": 1, "ada": 2, "ben": 2, "dan": 4, "eve": 5, "prof": 0, "random": 0}
    lines = list(csv.reader(io.StringIO(standings.as_csv(table))))[1:]
    assert {line[1]: line[0] for line in lines} == {"cleo": "1", "ada": "2", "ben": "2", "dan": "4", "eve": "5"}
    idle = standings.table(entries, [result(0, 4, 0, 0, 32)])
    assert sorted(row.rank for row in idle.rows) == [0, 0, 1, 2, 2, 2, 2], "nobody of them has played"


def test_an_instructors_policy_plays_but_takes_no_rank_and_no_line():
    entries = [entry(0, "random", anchor=True), entry(1, "ada"), entry(2, "prof", instructor=True), entry(3, "cleo")]
    table = standings.table(entries, [result(0, 1, 8, 0, 24), result(0, 2, 2, 0, 30), result(0, 3, 12, 0, 20)])
    assert [(row.name, row.rank, row.ranked) for row in table.rows] == [
        ("prof", 0, False),
        ("ada", 1, True),
        ("cleo", 2, True),
        ("random", 0, False),
    ]
    lines = list(csv.reader(io.StringIO(standings.as_csv(table))))[1:]
    assert [line[:2] for line in lines] == [["1", "ada"], ["2", "cleo"]]


def test_what_is_admitted_is_the_policy_alone(tmp_path: Path):
    saved = policy(3)
    learned = checkpoint.Checkpoint(
        **{**vars(saved), "config": {"seed": 5}, "state": {"adam_m": saved.weights, "adam_v": saved.weights}}
    )
    one, other = admit(checkpoint.encode(learned)), admit(bare(saved))
    kept = checkpoint.decode(one.content)
    assert (one.digest, len(one.content)) == (other.digest, len(other.content))
    assert (kept.state, kept.config) == ({}, {}) and np.array_equal(kept.weights, saved.weights)
    assert one.digest != admit(policy_bytes(4)).digest


def test_a_network_with_a_memory_is_admitted_like_any_other():
    ball = rounds.drill_of("ball").spec
    shape = PolicySpec((ball.n_obs, 8, -4, ball.n_actions + 1))
    recurrent = dataclasses.replace(policy(0), layers=shape.layers, weights=shape.untrained(0))
    assert checkpoint.decode(admit(checkpoint.encode(recurrent)).content).memory == 4


def test_what_is_not_admitted():
    wrong = checkpoint.encode(checkpoint.Checkpoint("ball", "0", (3, 2), "tanh", np.zeros(8, np.float32)))
    alone = checkpoint.encode(checkpoint.Checkpoint("cartpole", "0", (4, 3), "tanh", np.zeros(15, np.float32)))
    for content, why in (
        (b"", "has only 0 bytes"),
        (b"\x80\x04K\x01.", "Python pickle"),
        (b"PK\x03\x04" + bytes(99), "zip archive"),
        (policy_bytes(1)[:-4], "do not match its sha256"),
        (wrong, "needs 28 inputs and 31 outputs"),
        (alone, "'cartpole', but there is no league for it"),
    ):
        with pytest.raises(checkpoint.CheckpointError, match=why):
            admit(content)


def test_haste_is_limited_by_account():
    now = [0.0]
    limiter = Limiter(most=2, seconds=10, clock=lambda: now[0])
    assert [limiter.wait("ada") for _ in range(3)] == [0, 0, 10]
    assert limiter.wait("bob") == 0
    now[0] = 4.0
    assert limiter.wait("ada") == 6
    now[0] = 10.5
    assert limiter.wait("ada") == 0
    now[0] = 100.0
    assert limiter.wait("eve") == 0 and set(limiter._times) == {"eve"}


def test_anchors_are_known_and_random_play_is_always_one():
    assert [anchor.name for anchor in rounds.anchors_of("ball", ["gold", "chaser"])] == ["random", "chaser", "gold"]
    assert rounds.anchor_names("sumo")[0] == "random" and "gold" not in rounds.anchor_names("sumo")
    with pytest.raises(LeagueError, match="'gold' is not an anchor of 'sumo'"):
        rounds.anchors_of("sumo", ["gold"])
    with pytest.raises(LeagueError, match="expected a drill of two sides"):
        rounds.drill_of("cartpole")
