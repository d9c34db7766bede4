"""What a run hands out: the champion where it is better in fresh matches, and the file says so."""

import dataclasses

import numpy as np
import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.ball import Ball
from dshq_widget.learning import champion
from dshq_widget.learning.league import Champion, League
from dshq_widget.policy import checkpoint
from dshq_widget.policy.network import PolicySpec, initial_weights

BALL = compile_drill(Ball)
SPEC = PolicySpec((BALL.spec["n_obs"], 16, BALL.spec["n_actions"] + 1))
WEAK = initial_weights(SPEC.layers, 1)
STILL = np.zeros(SPEC.floats, np.float32)
STILL[-SPEC.layers[-1]] = 50.0
"""Stands where it is, which loses fewer matches against the chaser than running about."""


@pytest.fixture(autouse=True)
def few_matches(monkeypatch):
    monkeypatch.setattr(champion, "MATCHES", 128)


def file_of(tmp_path, latest, crowned, version=9):
    league = League(BALL, SPEC, 0)
    league.hold_round(crowned, 4, 4000, 4, {})
    league.champion = Champion(crowned, 4, 4000, 200.0, 256)
    state = {**league.state(), **{key: np.ones(SPEC.floats, np.float32) for key in ("adam_m", "adam_v")}}
    saved = checkpoint.Checkpoint(
        BALL.name, BALL.rules_hash, SPEC.layers, SPEC.activation, latest, version, 9000, 0, state=state,
        metrics={"win_rate_ema": 0.1, "seconds": 3.0},
    )  # fmt: skip
    return checkpoint.save(tmp_path / "bot.dshq", saved)


def test_the_better_champion_takes_the_place_of_the_latest(tmp_path):
    path = file_of(tmp_path, WEAK, STILL)
    said = champion.keep_best(path, BALL)
    kept = checkpoint.load(path)
    assert (said["version"], said["latest"]) == (4, 9) and "the champion" in said["why"]
    assert said["shares"]["v4"] > said["shares"]["v9"]
    assert (kept.version, kept.step) == (4, 4000) and np.array_equal(kept.weights, STILL)
    assert kept.metrics == {"seconds": 3.0, "version": 4, "agent_steps": 4000}
    assert kept.state and all(key.startswith("train.league.") for key in kept.state)
    assert champion.keep_best(path, BALL)["version"] == 4, "asked again, it is the latest"


def test_a_better_latest_stays_as_it_is(tmp_path):
    path = file_of(tmp_path, STILL, WEAK)
    before = path.read_bytes()
    said = champion.keep_best(path, BALL)
    assert said["version"] == 9 and "the latest" in said["why"] and path.read_bytes() == before


def test_without_a_league_there_is_nothing_to_choose(tmp_path):
    saved = checkpoint.load(file_of(tmp_path, WEAK, WEAK))
    path = checkpoint.save(tmp_path / "plain.dshq", dataclasses.replace(saved, state={}))
    assert champion.keep_best(path, BALL) is None
