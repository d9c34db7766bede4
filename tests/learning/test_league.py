"""The self-play league: ratings, retention, sampling, the champion, the guard; alone and in a real learner."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest

from dshq_widget.contract.metrics import metric_named
from dshq_widget.contract.setting import ConfigError
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.env.batch import compiled
from dshq_widget.learning import elo
from dshq_widget.learning.league import league
from dshq_widget.learning.league.collapse_guard import STRIKES, VALUE_WARM_UP, CollapseGuard
from dshq_widget.learning.league.league import MOST_NOTES, League
from dshq_widget.learning.league.rounds import Rounds
from dshq_widget.learning.opponents.opposition import Opposition
from dshq_widget.learning.opponents.slots import slot_count
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.policy.network import PolicySpec
from dshq_widget.training.trainer import Trainer
from tests.harness.games.opposed import Opposed, weights
from tests.harness.processes.faults import until
from tests.harness.processes.in_threads import ThreadChannel
from tests.harness.processes.lockstep import hashes

pytestmark = pytest.mark.usefixtures("learners_in_threads")

NAN = float("nan")


def table(strengths: np.ndarray, matches: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Results of players of known Elo who each met all others."""
    n = len(strengths)
    points, played = np.zeros((n, n)), np.full((n, n), float(matches)) - matches * np.eye(n)
    for i in range(n):
        for j in range(i):
            chance = 1 / (1 + 10 ** ((strengths[j] - strengths[i]) / 400))
            points[i, j] = rng.binomial(matches, chance)
            points[j, i] = matches - points[i, j]
    return points, played


def test_two_players_by_hand():
    """76 points of 100 are 200 Elo; the pinned player stays where it is."""
    points = np.array([[0, 24.0], [76, 0]])
    rating, half = elo.ratings(points, np.array([[0, 100.0], [100, 0]]), np.array([1000.0, NAN]))
    assert rating[0] == 1000 and half[0] == 0
    assert rating[1] == pytest.approx(1000 + 400 * np.log10(77 / 25), abs=1e-6)  # with two virtual draws
    assert half[1] == pytest.approx(1.96 * 400 / np.log(10) / np.sqrt(102 * 77 / 102 * 25 / 102), rel=1e-3)
    assert elo.difference(0.5, 1) == 0 and elo.difference(10, 10) < 800


def test_the_band_holds_the_truth_about_as_often_as_it_says():
    strengths = np.array([1000.0, 1400, 900, 1150, 1300, 1600])
    pinned = np.array([1000.0, 1400, NAN, NAN, NAN, NAN])
    inside = []
    for seed in range(200):
        rating, half = elo.ratings(*table(strengths, 60, np.random.default_rng(seed)), pinned)
        assert (rating[:2] == strengths[:2]).all()
        inside.append(np.abs(rating - strengths)[2:] <= half[2:])
    assert 0.92 < np.mean(inside) < 0.98


def test_more_matches_narrow_the_band_and_order_does_not_matter():
    rng = np.random.default_rng(3)
    points, matches = table(np.array([1000.0, 1200, 1300]), 40, rng)
    pinned = np.array([1000.0, NAN, NAN])
    few, many = elo.ratings(points, matches, pinned), elo.ratings(4 * points, 4 * matches, pinned)
    assert (many[1][1:] < 0.6 * few[1][1:]).all()
    order = [2, 0, 1]
    turned = elo.ratings(points[np.ix_(order, order)], matches[np.ix_(order, order)], pinned[order])
    assert turned[0] == pytest.approx(few[0][order]) and turned[1] == pytest.approx(few[1][order])


def test_a_clean_sweep_is_finite_and_a_stranger_has_no_band():
    points, matches = np.zeros((4, 4)), np.zeros((4, 4))
    points[1, 0], matches[0, 1], matches[1, 0] = 500, 500, 500
    points[2, 3] = matches[2, 3] = matches[3, 2] = 7  # these two met nobody who leads to the pinned one
    rating, half = elo.ratings(points, matches, np.array([1000.0, NAN, NAN, NAN]))
    assert 1500 < rating[1] < 3000 and np.isfinite(half[1])
    assert (rating[2:] == 1000).all() and np.isinf(half[2:]).all()


@pytest.fixture(scope="module")
def ball():
    drill = compiled("ball")
    return drill, PolicySpec.for_drill(drill.spec, (8,))


@pytest.fixture
def cheap(monkeypatch):
    """Few matches a round: what is tested is not the players' strength."""
    monkeypatch.setattr(league, "PINNED_MATCHES", 32)
    monkeypatch.setattr(league, "RIVAL_MATCHES", 16)
    monkeypatch.setattr(league, "CHAMPION_MATCHES", 32)
    monkeypatch.setattr(league, "BASE_MATCHES", 256)


def filled(ball, rounds: int, capacity: int = 10) -> League:
    found = League(*ball, seed=5)
    found.capacity = capacity
    for k in range(rounds):
        found.hold_round(weights(ball[1], k), k + 1, 1000 * k, 100 * k, {"learning_rate": 0.003})
    return found


def test_the_cross_table_adds_up(ball, cheap):
    rows = filled(ball, 6).rows()
    assert json.loads(json.dumps(rows)) == rows
    assert {row["name"] for row in rows} == {"random", "chaser", *(f"v{k}" for k in range(1, 7))}
    by_name = {row["name"]: row for row in rows}
    assert by_name["random"]["elo"] == 1000 and by_name["random"]["elo_low"] == by_name["random"]["elo_high"]
    assert by_name["chaser"]["elo"] > 1200, "the chaser beats random play"
    for name, row in by_name.items():
        for other, (points, matches) in row["against"].items():
            back, again = by_name[other]["against"][name]
            assert matches == again > 0 and points + back == matches and name != other
        if not row["pinned"]:
            assert {"random", "chaser"} <= set(row["against"])
            assert row["elo_low"] < row["elo"] < row["elo_high"]
            assert 0 <= row["share"] <= 1 and 0 <= row["win_rate"] <= 1 and row["hyper"] == {"learning_rate": 0.003}
    assert [row["elo"] for row in rows] == sorted((row["elo"] for row in rows), reverse=True)
    assert sum(row.get("champion", False) for row in rows) <= 1


def test_retention_keeps_the_newest_and_the_best(ball, cheap):
    found = filled(ball, 9)
    for k in range(9, 30):
        before = {s.name: r["elo"] for s in found.snapshots for r in found.rows() if r["name"] == s.name}
        found.hold_round(weights(ball[1], k), k + 1, 1000 * k, 100 * k, {})
        numbers = [s.number for s in found.snapshots]
        assert len(numbers) <= 10 and numbers == sorted(numbers)
        assert numbers[-6:] == list(range(k - 5, k + 1)), "the newest six stay"
        assert len(found.points) == len(found.matches) == len(numbers) + 2
        assert len(before) == len(found.snapshots) - (k == 9)
    assert filled(ball, 20).rows() == filled(ball, 20).rows(), "the same seed keeps the same ones"


def test_the_strongest_old_ones_are_never_dismissed(ball, cheap):
    found = filled(ball, 10)
    found.succession.champion = dataclasses.replace(found.champion, version=found.snapshots[3].version)
    found._elo = np.arange(13, dtype=float)[
        ::-1
    ]  # the older, the stronger; eleven snapshots, the first two are the best
    found.snapshots.append(found.snapshots[-1])
    leavers = set()
    for found.rounds in range(60):
        leavers.add(found._leaver())
    assert leavers == {2, 4}, "nor is the champion"


def test_opponents_are_mostly_hard_ones_else_any_or_the_newest(ball, cheap):
    found = filled(ball, 6)
    for k, snapshot in enumerate(found.snapshots):
        snapshot.win_rate = 0.2 if k == 1 else 1.0
    drawn = [id(w) for _ in range(500) for w in found.draw(8)]
    share = {k: drawn.count(id(s.weights)) / len(drawn) for k, s in enumerate(found.snapshots)}
    assert share[5] == pytest.approx(0.1 + 0.3 / 6, abs=0.03)
    assert share[1] == pytest.approx(0.3 / 6 + 0.6, abs=0.03)
    assert share[0] == pytest.approx(0.3 / 6, abs=0.02)


def test_who_has_fallen_is_not_shown_nor_drawn_as_the_newest(ball, cheap, monkeypatch):
    found = filled(ball, 4)
    before = found.metrics
    monkeypatch.setattr(found.succession, "after_round", lambda *_: "the score fell")
    found.hold_round(weights(ball[1], 9), 5, 5000, 500, {})
    kept = League(*ball, seed=5)
    kept.restore(found.state())
    for each in (found, kept):
        rows = {row["name"]: row for row in each.rows()}
        assert each.metrics["elo"] == rows["v4"]["elo"] != rows["v5"]["elo"] and before
        monkeypatch.setattr(league, "LATEST", 1.0)
        assert all(np.array_equal(drawn, each.snapshots[3].weights) for drawn in each.draw(50))


def test_the_win_rate_against_a_snapshot_is_smoothed_per_match(ball, cheap, monkeypatch):
    found = filled(ball, 1)
    monkeypatch.setattr(League, "_match", lambda self, w, player, matches, series: float(matches))
    found.hold_round(weights(ball[1], 1), 2, 10, 100, {})
    assert found.snapshots[0].win_rate == pytest.approx(1 - 0.5 * 0.95**league.CHAMPION_MATCHES)
    found.hold_round(weights(ball[1], 2), 3, 20, 200, {})
    assert found.snapshots[0].win_rate == pytest.approx(1 - 0.5 * 0.95 ** (league.CHAMPION_MATCHES + 16))


def test_the_champion_is_met_with_more_matches_and_stays(ball, cheap, monkeypatch):
    """Who makes half the points against it is the next; who makes fewer is not, whatever the scripts say."""
    found, shares, fallen = filled(ball, 1), {"other": 0.5}, weights(ball[1], 7)
    pinned = [id(player) for player in found.pinned.values()]

    def match(self, weights, player, matches, series):
        return matches * (shares["other"] if id(player) not in pinned else 0.2 if weights is fallen else 0.9)

    monkeypatch.setattr(League, "_match", match)
    for k, (other, champion) in enumerate([(0.5, 2), (0.49, 2), (0.2, 2), (0.9, 5), (0.4, 5)], 1):
        shares["other"] = other
        assert found.hold_round(weights(ball[1], k), k + 1, 10 * k, 100 * k, {}) == ""
        assert found.champion.version == champion
    rows = {row["name"]: row for row in found.rows()}
    assert rows["v6"]["against"]["v5"] == [32 * 0.4, 32] and rows["v5"]["champion"] and not rows["v6"]["champion"]
    shares["other"] = 0.9
    assert "the score against random fell from 90.0% to 20.0%" in found.hold_round(fallen, 8, 70, 700, {})
    assert found.hold_round(fallen, 9, 80, 800, {}, watch=False) == "" and found.champion.version == 5
    shares["other"] = 0.4
    for k in range(9, 40):
        found.hold_round(weights(ball[1], k), k + 1, 10 * k, 100 * k, {}, watch=False)
    assert len(found.snapshots) == found.capacity and found.champion.version == 5
    assert [row["name"] for row in found.rows() if row.get("champion")] == ["v5"], "it does not leave"


def test_rounds_fall_due_by_updates_and_have_to_be_paid_for(ball, cheap):
    found = League(*ball, seed=0)
    assert found.due(0, 0, 100)
    found.hold_round(weights(ball[1], 0), 1, 0, 0, {})
    assert not found.due(99, 10**9, 100) and found.due(100, 10**9, 100) and not found.due(100, 1000, 100)
    alone = compiled("cartpole")
    single = League(alone, PolicySpec.for_drill(alone.spec, (8,)), 0)
    assert not single.due(10**9, 10**9, 1) and single.rows() == [] and single.metrics == {} and single.state() == {}


def test_a_league_goes_on_from_its_state_to_the_bit(ball, cheap, tmp_path):
    found = filled(ball, 12)
    found.draw(3)
    drill, spec = ball
    state = found.state()
    saved = checkpoint.Checkpoint("ball", "x", spec.layers, "tanh", weights(spec, 0), state=state)
    path = checkpoint.save(tmp_path / "league.dshq", saved)
    again = League(drill, spec, seed=5)
    again.restore(checkpoint.load(path).state)
    again.capacity = found.capacity
    assert [w.tobytes() for w in again.opponents] == [w.tobytes() for w in found.opponents]
    for one in (found, again):
        one.hold_round(weights(spec, 50), 99, 99_000, 9900, {})
    assert again.rows() == found.rows() and again.champion.version == found.champion.version
    assert [w.tobytes() for w in again.draw(8)] == [w.tobytes() for w in found.draw(8)]
    wrong = {**state, "train.league.table": state["train.league.table"][:, 1:, 1:]}
    with pytest.raises(CheckpointError, match="a different network"):
        League(drill, spec, seed=5).restore(wrong)
    with pytest.raises(CheckpointError, match="cannot be read"):
        League(drill, spec, seed=5).restore({**state, "train.league.notes": np.zeros(3, np.uint8)})
    with pytest.raises(CheckpointError, match="a different network"):
        League(drill, spec, seed=5).restore({**state, "train.league.reference": np.zeros(3, np.float32)})


def test_a_run_from_an_earlier_policy_forgets_the_later_ones_and_holds_rounds_again(ball, cheap):
    """As after a champion's file: the abandoned branch's steps would keep the league asleep, its names come twice."""
    league = filled(ball, 8)
    steps = [snapshot.step for snapshot in league.snapshots]
    league.kept = {league.snapshots[-1].version}
    league.go_back(steps[4])
    assert [snapshot.step for snapshot in league.snapshots] == [*steps[:5], steps[-1]]
    assert league.points.shape == league.matches.shape == (8, 8)
    assert not league.due(league.last_updates + 100, steps[4] + 1, 100), "it costs as much as before"
    assert league.due(league.last_updates + 100, steps[4] + 10**9, 100) and league.last_step == steps[4]
    rows = {row["name"] for row in league.rows()}
    league.go_back(10**9)
    assert {row["name"] for row in league.rows()} == rows, "nothing is later than now"


def test_a_table_that_no_message_holds_is_not_shown_and_the_run_goes_on(ball, cheap):
    """A file's players may bear texts of any length: the run ended with its first round."""
    found, warned = filled(ball, 2), []
    found.snapshots[0].hyper = {"x" * (1 << 20): 1.0}
    learner = SimpleNamespace(schedule=lambda progress: {}, blob=lambda: found.snapshots[0].weights)
    run = SimpleNamespace(learner=learner, progress=None, version=9, agent_steps=10**9, updates=99, warn=warned.append)
    run.channel, run.config = ThreadChannel(lambda: None), SimpleNamespace(collapse_guard=True)
    Rounds(found, TrainConfig())._hold_round(run)
    assert found.snapshots[-1].version == 9 and len(warned) == 1
    assert "the league's table is not shown: a message has at most 1,048,576 bytes" in warned[0]


def test_a_league_that_no_run_has_written_is_refused_in_a_sentence(ball, cheap):
    found = filled(ball, 3)
    state = found.state()
    notes = json.loads(state["train.league.notes"].tobytes())
    first, *others = notes["snapshots"]

    def refused(**changes: object) -> None:
        told = np.frombuffer(json.dumps({**notes, **changes}).encode(), np.uint8)
        again = League(*ball, seed=5)
        with pytest.raises(CheckpointError, match="cannot be read"):
            again.restore({**state, "train.league.notes": told})
        assert again.snapshots == []

    for count in (float("inf"), 10**400, 1 << 62, -1, "3", None):
        refused(rounds=count)
        refused(last_step=count)
    wrong = {"version": 1e300, "win_rate": NAN, "share": "1", "hyper": [], "number": -1, "no such": 1}
    for key, value in wrong.items():
        refused(snapshots=[{**first, key: value}, *others])
    for value in ([], {}, [1, 2, 3], 5):
        refused(snapshots=value)
    refused(champion=[])
    kept = notes["reference"]
    for wrong in ({"matches": [-1] * len(kept["matches"])}, {"points": [1e9] * len(kept["points"])}, {"version": 0.5}):
        refused(reference={**kept, **wrong})
    for many in (1 << 53, 10**18):  # all won: a strength of 1 by rounding, by whose complement a round divides
        refused(reference={**kept, **{key: [many] * len(kept[key]) for key in ("points", "matches")}})
    refused(tests=-1)
    for name in ("weights", "champion", "reference"):
        told = state[f"train.league.{name}"]
        for rows in (told.astype(np.uint8), told.astype(float), np.where(told == told.flat[0], np.float32(NAN), told)):
            with pytest.raises(CheckpointError, match="no finite float32 numbers"):
                League(*ball, seed=5).restore({**state, f"train.league.{name}": rows})
    deep = np.frombuffer(b"[" * 100_000, np.uint8)
    many = np.frombuffer(b"[[]" + b",[]" * (MOST_NOTES // 3) + b"]", np.uint8)
    for notes, said in ((deep, "cannot be read"), (many, "more than 4,194,304")):
        with pytest.raises(CheckpointError, match=said):
            League(*ball, seed=5).restore({**state, "train.league.notes": notes})
    for table in (-state["train.league.table"], 1e300 + state["train.league.table"]):
        with pytest.raises(CheckpointError, match="no matches give"):
            League(*ball, seed=5).restore({**state, "train.league.table": table})


def test_a_league_of_more_snapshots_than_a_run_keeps_is_refused_before_it_is_rated(ball, cheap):
    """Ratings of 700 players took a minute that nothing interrupts, those of 4,000 hours."""
    state = filled(ball, 3).state()
    notes = json.loads(state["train.league.notes"].tobytes())
    notes["snapshots"] = notes["snapshots"][:1] * 201
    many = {
        "train.league.notes": np.frombuffer(json.dumps(notes).encode(), np.uint8),
        "train.league.weights": np.repeat(state["train.league.weights"][:1], 201, axis=0),
        "train.league.table": np.zeros((2, 203, 203)),
    }
    with pytest.raises(CheckpointError, match="it has 201 snapshots, more than 200"):
        League(*ball, seed=5).restore({**state, **many})


def test_a_league_of_before_there_were_references_is_read(ball, cheap):
    """Its champion has the points that made it champion; it becomes the first reference, with new matches."""
    found = filled(ball, 5)
    state = found.state()
    notes = json.loads(state["train.league.notes"].tobytes())
    notes["champion"] |= {"points": 200.5, "matches": 512}
    for key in ("reference", "tests", "suspicion", "anew"):
        del notes[key]
    del state["train.league.reference"]
    again = League(*ball, seed=5)
    again.restore({**state, "train.league.notes": np.frombuffer(json.dumps(notes).encode(), np.uint8)})
    assert again.champion.version == found.champion.version and again.succession.reference is None
    again.hold_round(weights(ball[1], 9), 99, 99_000, 9900, {})
    assert again.succession.reference is not None and min(again.succession.score.matches) >= 32


def test_a_large_network_has_a_small_pool(ball):
    drill, _ = ball
    assert League(drill, PolicySpec.for_drill(drill.spec, (64, 64)), 0).capacity == 100
    large = PolicySpec.for_drill(drill.spec, (256, 256))
    small = League(drill, large, 0).capacity
    assert 10 <= small < 100 and small * large.floats * 4 <= league.MOST_BYTES


def test_the_guard_sees_updates_that_break_their_bounds():
    guard = CollapseGuard()
    good = {"approx_kl": 0.01, "loss_value": 0.2}
    assert guard.after_update({**good, "loss_value": 80.0}) == "", "nothing is usual yet"
    guard.start_over()
    for k in range(VALUE_WARM_UP):
        assert guard.after_update({**good, "loss_value": 0.2 + 0.1 * (k % 2)}) == ""
    assert guard.after_update({}) == ""
    wild, far = {**good, "loss_value": 80.0}, {**good, "approx_kl": 2.0}
    assert [guard.after_update(wild), guard.after_update(wild), guard.after_update(good)] == [""] * 3, "not in a row"
    assert [guard.after_update(far) for _ in range(STRIKES - 1)] == [""] * (STRIKES - 1)
    twin = CollapseGuard()
    twin.restore(guard.state())
    assert np.array_equal(twin.state(), guard.state())
    twin.restore(np.append(guard.state(), [3.0, 4.0]))
    assert np.array_equal(twin.state(), guard.state()), "files of before have results of rounds behind it"
    assert "2 nats" in guard.after_update(far) and "value loss is 80" in twin.after_update(wild)


def test_a_fixed_opponent_is_that_policy_and_stays_in_the_league(ball, cheap):
    config = TrainConfig(num_envs=64, opponents={"pool": 0.5, "v2": 0.5})
    found, games = filled(ball, 9), Opposed()
    contest = Rounds(found, config)
    Opposition(*ball, games, config, contest).begin(None)
    assert len(games.policies) == slot_count(config, found.drill.spec) == 2
    assert (games.policies[-1] == weights(ball[1], 1)).all()
    for k in range(9, 40):
        found.hold_round(weights(ball[1], k), k + 1, 1000 * k, 100 * k, {})
    assert found.snapshots[0].version == 2 and len(found.snapshots) == found.capacity + 1
    with pytest.raises(ConfigError, match=r"wanted a version of this league \(v2, .*got 'v777'"):
        Opposition(*ball, games, TrainConfig(opponents={"v777": 1.0}), contest).begin(None)


def test_an_opponent_stays_for_a_match_of_all_games_however_many_processes_play_them(ball, cheap):
    """Each process's part of the games is an update of its own."""
    config = TrainConfig(num_envs=64, rollout_length=100, opponents={"pool": 1.0})
    found = filled(ball, 9)
    told = []
    for games in (Opposed(), Opposed(parts=4)):
        opposition = Opposition(*ball, games, config, Rounds(found, config))
        for updates in range(1, 49):
            opposition.after_update(SimpleNamespace(updates=updates, config=config), None, {})
        told.append(games.told)
    rollouts = -(-found.drill.spec.time_limit // (found.drill.spec.action_repeat * 100))
    assert told == [48 // rollouts, 48 // (4 * rollouts)] and told[1] > 0


def test_a_version_that_nobody_kept_is_named():
    with Trainer("ball", opponents={"v9": 1.0}, num_envs=64, workers=0) as t:
        t.start()
        with pytest.raises(RuntimeError, match="wanted a version of this league"):
            t.wait(updates=1, progress=False)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.slow
def test_training_with_a_pool(workers, tmp_path):
    hyper = {"num_envs": 64, "rollout_length": 32, "hidden_sizes": (16,), "minibatch_size": 512, "workers": workers}
    with Trainer("ball", opponents="self=.5,pool=.5", seed=3, snapshot_every=2, **hyper) as t:
        assert t.league == []
        t.start()
        assert t.wait(updates=3, progress=False) and t.error == ""
        names = {row["name"] for row in t.league}
        assert {"random", "chaser"} < names
        assert {"elo", "elo_low", "elo_high"} <= set(t.metrics) <= {name for name in t.metrics if metric_named(name)}
        path = t.save(tmp_path / "pool.dshq")
        state = checkpoint.load(path).state
        assert state["train.league.champion"].shape == t.latest_policy().weights.shape
        assert len(state["train.league.opponents"]) == slot_count(t.config, t.drill.spec)
    with Trainer(path) as again:
        again.start()
        assert again.wait(updates=checkpoint.load(path).version + 5, progress=False) and again.error == ""
        later = checkpoint.load(again.save(tmp_path / "later.dshq")).state
    known, kept = ({row.tobytes() for row in found["train.league.weights"]} for found in (later, state))
    assert kept and kept <= known, "its versions came back from the file"
    slots = [*state["train.league.opponents"], *later["train.league.opponents"]]
    assert {row.tobytes() for row in slots} <= known


def test_a_run_with_a_pool_goes_on_to_the_bit(tmp_path):
    """Opponents on the pitch, those drawn next and the games themselves come out of the file."""
    hyper = {"num_envs": 64, "rollout_length": 32, "hidden_sizes": (16,), "minibatch_size": 512, "pace": 64 * 32 * 30}
    with Trainer("ball", opponents="self=.5,pool=.5", seed=3, deterministic=True, **hyper) as trainer:
        hashes(trainer, 12)
        path = trainer.save(tmp_path / "half.dshq")
        first = checkpoint.load(path).version
        ahead = hashes(trainer, first + 20, first)
    with Trainer(path) as again:
        after = hashes(again, first + 20, first)
    assert len(ahead) == 20 and ahead == after


def test_training_that_falls_apart_goes_back_to_its_champion(caplog):
    """A learning rate that no policy survives: every update moves it by nats, and the guard steps in."""
    hyper = {"num_envs": 64, "rollout_length": 32, "hidden_sizes": (16,), "minibatch_size": 256, "workers": 0}
    with Trainer("ball", seed=3, lr=1.0, lr_schedule="constant", max_grad_norm=0, min_entropy=0, **hyper) as t:
        t.start()
        until(lambda: t.error or "reverted to champion v" in caplog.text, "the guard's step")
        seen = t.version
        until(lambda: t.error or t.version > seen + 3, "three versions more")
        assert t.error == "", "training continues"
