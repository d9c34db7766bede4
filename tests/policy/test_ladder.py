"""The ladder as players and judges: what its critics say at the end, and files of older rules beside it."""

import logging
from pathlib import Path

import numpy as np
import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.ball import Ball
from dshq_widget.env.batch import Batch
from dshq_widget.policy import checkpoint, ladder
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.policy.evaluate import opponent
from dshq_widget.policy.loading import load_policy
from dshq_widget.training.evaluation import evaluate
from dshq_widget.training.trainer import Trainer
from tests.harness.games.toy_drills import Walk

OLDER = Path(__file__).with_name("ball-of-older-rules.dshq")
"""Bronze as it was shipped when the Ball Drill's clock cut matches off."""


@pytest.mark.parametrize("rung", ladder.RUNGS)
def test_a_critic_knows_that_the_match_is_over_soon(rung):
    """At kick-off with one decision left there is a draw to pay and nothing else: not goals on goals."""
    batch = Batch("ball", 64, practice=False)
    batch.tiles["ticks"] = batch.spec.time_limit - batch.spec.action_repeat
    value = load_policy(f"ball:{rung}").forward(batch.observe())[1]
    assert abs(value.mean() + Ball.rewards["draw"] + Ball.rewards["waiting"]) < 0.8, value.mean()


def test_a_file_of_older_rules_plays_and_says_so(caplog):
    caplog.set_level(logging.WARNING)
    said = "was trained with different rules of ball; it plays, but may play worse"
    saved = checkpoint.load(OLDER)
    assert saved.rules_hash != compile_drill(Ball).rules_hash
    assert load_policy(OLDER).act(np.zeros((3, 28), np.float32), greedy=True).shape == (3,)
    found = evaluate(OLDER, against="random", matches=64)
    assert found["wins"] > 20 and caplog.text.count(said) == 1
    with Trainer("ball") as trainer:
        trainer.load(OLDER)
        assert trainer.latest_policy().version == saved.version and caplog.text.count(said) == 2
    caplog.clear()
    evaluate("ball:bronze", against=OLDER, matches=16)
    assert "different rules" not in caplog.text, "the file that is judged fits"


def test_rungs_are_opponents_by_their_names():
    """`--against gold` as the widget has it, and `ball:gold` on either side."""
    one, other = (evaluate("ball:silver", against=name, matches=64, seed=3) for name in ("bronze", "ball:bronze"))
    assert {**one, "against": ""} == {**other, "against": ""}
    assert one["points"] == (one["wins"] + one["draws"] / 2) / 64
    with pytest.raises(ValueError, match="'walk' has no policy 'gold'"):
        opponent("gold", compile_drill(Walk))


def test_the_leagues_best_comes_from_the_file_itself(tmp_path):
    """A run with a league of one round: its champion is an opponent, a version that is not there is told."""
    with Trainer("ball", num_envs=64, rollout_length=16, minibatch_size=256, snapshot_every=2, workers=0) as trainer:
        trainer.start()
        trainer.wait(updates=3, progress=False)
        trainer.stop()
        trainer.join()
        file = trainer.save(tmp_path / "run.dshq")
    best = evaluate(file, against="league:best", matches=32)
    assert best["against"] == "league:best" and best["wins"] + best["draws"] + best["losses"] == 32
    for name, words in [
        ("league:v99999", r"wanted a version of the league \(v\d+"),
        ("league:worst", "wanted league:best or a version such as league:v120, got 'league:worst'"),
    ]:
        with pytest.raises(CheckpointError, match=words):
            evaluate(file, against=name, matches=2)
    with pytest.raises(CheckpointError, match="'league:best' needs a file with a league"):
        evaluate("ball:bronze", against="league:best", matches=2)
