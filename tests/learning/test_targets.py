"""The targets of a policy in training: one after another, and when each was beaten."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest

from dshq_widget.contract.metrics import METRICS
from dshq_widget.learning import targets
from dshq_widget.learning.targets import Targets
from dshq_widget.policy import ladder
from tests.harness.games.specs import NOTHING

BALL = dataclasses.replace(NOTHING, name="ball", sides=2, baselines=("chaser",))


class Played(Targets):
    """Whose matches are won as `won` says, by opponent and number: its share of the decided ones, and of all."""

    def __init__(self, won):
        super().__init__(SimpleNamespace(spec=BALL, name="ball"), SimpleNamespace(layers=(), activation=""), 0)
        self.won = won


@pytest.fixture
def play(monkeypatch):
    monkeypatch.setattr(targets, "network", lambda *_: None)
    monkeypatch.setattr(targets, "opponent", lambda name, _: name)

    def one(played, seconds):
        def result(_drill, _player, name, matches, seed):
            rate, share = played.won(name, matches)
            return {"win_rate": rate, "win_share": share}

        monkeypatch.setattr(targets, "evaluate", result)
        run = SimpleNamespace(learner=SimpleNamespace(blob=lambda: None), seconds=seconds)
        played._due = 0.0
        played.after_update(run, None, {})

    return one


def test_targets_are_beaten_one_after_another_and_keep_their_time(play):
    won = {"idle": (1.0, 0.9), "random": (0.6, 0.3), "chaser": (0.9, 0.1)}
    played = Played(lambda name, _: won.get(name, (0.0, 0.0)))
    play(played, 2.0)
    assert played.metrics == {"beats_idle": 2.0, "beats_random": 2.0, "target_share": 0.1}, "wins alone are not enough"
    won["chaser"] = (0.9, 0.5)
    play(played, 7.0)
    assert played.metrics == {"beats_idle": 2.0, "beats_random": 2.0, "beats_script": 7.0, "target_share": 0.0}


def test_luck_does_not_beat_a_target(play):
    """Who wins 45 % of the decided matches passed one of ten looks in 86 of 100 runs, when one look was enough."""
    draw = np.random.default_rng(0)

    def won(_name, matches):
        rate = draw.binomial(matches, 0.45) / matches
        return rate, rate

    lucky = 0
    for _ in range(100):
        played = Played(won)
        for _ in range(10):
            play(played, 1.0)
        lucky += bool(played.beaten)
    assert lucky < 30


def test_they_live_with_the_policy(play):
    played = Played(lambda name, _: (1.0, 0.9) if name == "idle" else (0.0, 0.0))
    play(played, 2.0)
    again = Played(None)
    again.restore(played.state())
    assert again.metrics == {"beats_idle": 2.0}


def test_the_targets_of_a_drill():
    assert [target.name for target in ladder.targets(BALL)] == ["idle", "random", "chaser", *ladder.RUNGS]
    assert all(target.metric in METRICS and target.steps > 0 for target in ladder.targets(BALL))
    own = ladder.targets(dataclasses.replace(NOTHING, sides=2))
    assert [(target.name, target.steps) for target in own] == [("idle", 0.0), ("random", 0.0)]
    assert ladder.targets(NOTHING) == ()
