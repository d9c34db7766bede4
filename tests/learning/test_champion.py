"""What a run hands out: the latest, unless the champion is better beyond chance in fresh matches; the file says so."""

import dataclasses

import numpy as np
import pytest

from dshq_widget.env.batch import compiled
from dshq_widget.learning.league import champion, league
from dshq_widget.learning.league.league import League
from dshq_widget.policy import checkpoint
from dshq_widget.policy.network import PolicySpec

BALL = compiled("ball")
SPEC = PolicySpec((BALL.spec.n_obs, 16, BALL.spec.n_actions + 1))
LATEST, CROWNED = PolicySpec(SPEC.layers).untrained(1), PolicySpec(SPEC.layers).untrained(2)


@pytest.fixture
def results(monkeypatch):
    """Points per match of the latest and the champion against the pinned opponents, and against each other."""
    shares = {"latest": 0.5, "champion": 0.5, "direct": 0.5}

    def evaluate(drill, player, other, matches, *, seed=0):
        who = "latest" if np.array_equal(player.blob, LATEST) else "champion"
        return {"wins": round(shares["direct" if other.blob is not None else who] * matches), "draws": 0}

    monkeypatch.setattr(champion, "evaluate", evaluate)
    monkeypatch.setattr(league, "evaluate", evaluate)
    return shares


def file_of(tmp_path, latest, crowned, version=9):
    found = League(BALL, SPEC, 0)
    found.hold_round(crowned, 4, 4000, 4, {})
    state = {**found.state(), **{key: np.ones(SPEC.floats, np.float32) for key in ("adam_m", "adam_v")}}
    saved = checkpoint.Checkpoint(
        BALL.name, BALL.rules_hash, SPEC.layers, SPEC.activation, latest, version, 9000, 0, state=state,
        metrics={"win_rate_ema": 0.1, "seconds": 3.0},
    )  # fmt: skip
    return checkpoint.save(tmp_path / "bot.dshq", saved)


def test_the_better_champion_takes_the_place_of_the_latest(tmp_path, results):
    results |= {"champion": 0.9, "latest": 0.8, "direct": 0.4}
    path = file_of(tmp_path, LATEST, CROWNED)
    said = champion.keep_best(path, BALL)
    kept = checkpoint.load(path)
    assert (said["version"], said["latest"]) == (4, 9) and "the champion, 90.0% of the points" in said["why"]
    assert "the latest, version 9, has 40.0% of the points in 2,048 matches with champion v4" in said["why"]
    assert said["shares"] == {"v4": pytest.approx(0.9, abs=0.001), "v9": pytest.approx(0.8, abs=0.001)}
    assert (kept.version, kept.step) == (4, 4000) and np.array_equal(kept.weights, CROWNED)
    assert kept.metrics == {"seconds": 3.0, "version": 4, "agent_steps": 4000}
    assert kept.state and all(key.startswith("train.league.") for key in kept.state)
    assert champion.keep_best(path, BALL)["version"] == 4, "asked again, it is the latest"


def test_a_latest_that_is_not_worse_stays_as_it_is(tmp_path, results):
    path = file_of(tmp_path, LATEST, CROWNED)
    before = path.read_bytes()
    said = champion.keep_best(path, BALL)
    assert said["version"] == 9 and "the latest, not worse" in said["why"] and path.read_bytes() == before


@pytest.mark.parametrize(
    ("latest", "crowned", "direct", "saved"),
    [
        (0.95, 0.96, 0.50, 9),  # more points by luck: even, and the newer stays
        (1.00, 1.00, 0.50, 9),
        (0.95, 0.95, 0.49, 9),  # within chance
        (0.95, 0.96, 0.30, 4),  # beaten head to head
        (0.96, 0.80, 0.30, 4),
        (0.90, 0.98, 0.50, 4),  # even head to head, but the scripts show that it has fallen
        (0.90, 0.98, 0.70, 9),
    ],
)
def test_ties_go_to_the_newer(tmp_path, results, latest, crowned, direct, saved):
    """The file had the champion for a single point more."""
    results |= {"latest": latest, "champion": crowned, "direct": direct}
    path = file_of(tmp_path, LATEST, CROWNED)
    said = champion.keep_best(path, BALL)
    assert said["version"] == checkpoint.load(path).version == saved
    assert said["head_to_head"] == pytest.approx(direct, abs=0.001)
    assert said["ci95"][0] < said["head_to_head"] < said["ci95"][1]


def test_without_a_league_there_is_nothing_to_choose(tmp_path, results):
    saved = checkpoint.load(file_of(tmp_path, LATEST, CROWNED))
    path = checkpoint.save(tmp_path / "plain.dshq", dataclasses.replace(saved, state={}))
    assert champion.keep_best(path, BALL) is None
