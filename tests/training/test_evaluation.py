"""How good a policy is, asked from Python: what `dshq evaluate` says."""

import json
from fractions import Fraction

import numpy as np
import pytest

from dshq_widget.cli.main import main
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.training.evaluation import evaluate
from dshq_widget.training.trainer import Trainer
from tests.harness.games.toy_drills import Walk


@pytest.mark.parametrize(
    ("policy", "flags", "options"),
    [
        (
            "ball:bronze",
            ["--against", "random", "--matches", "40", "--greedy"],
            {"against": "random", "matches": 40, "greedy": True},
        ),
        (
            "ball:bronze",
            ["--matches", "16", "--search", "4,1", "--seed", "3"],
            {"matches": 16, "search": "4,1", "seed": 3},
        ),
        ("ball:bronze", ["--matches", "16", "--search", "0,0"], {"matches": 16}),
    ],
)
def test_it_is_what_the_command_says(policy, flags, options, capsys):
    assert main(["evaluate", policy, *flags, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == evaluate(policy, **options)


def test_a_drill_of_ones_own_is_passed(tmp_path):
    with Trainer(Walk, hidden_sizes=(8,)) as trainer:
        file = trainer.save(tmp_path / "walk.dshq")
    with pytest.raises(CheckpointError, match="pass the drill's class as the second argument"):
        evaluate(file)
    found = evaluate(file, Walk, matches=20)
    assert found["drill"] == "walk" and found["episodes"] == 20 and "return_mean_random" in found
    with pytest.raises(ValueError, match="'walk' has one side, so there is no opponent: leave out against, got 'idle'"):
        evaluate(file, Walk, against="idle")


def test_numpys_numbers_are_numbers():
    found = evaluate("ball:bronze", matches=np.int64(4), seed=np.uint8(3), greedy=np.True_)
    assert json.loads(json.dumps(found)) == evaluate("ball:bronze", matches=4, seed=3, greedy=True)


def test_wrong_arguments_are_sentences(caplog):
    for options, words in [
        ({"matches": 0}, "matches must be a whole number of at least 1, got 0"),
        ({"matches": 2.5}, "matches must be a whole number of at least 1, got 2.5"),
        ({"matches": Fraction(10**400)}, "matches must be a whole number of at least 1, got Fraction"),
        ({"matches": "4"}, "matches must be a whole number of at least 1, got '4'"),
        ({"seed": None}, "seed must be a whole number, got None"),
        ({"seed": 1.5}, "seed must be a whole number, got 1.5"),
        ({"against": "nobody"}, "nobody"),
        ({"search": "4"}, "search: wanted K,DEPTH such as 16,4"),
        ({"drill": "maze"}, "plays 'ball', not 'maze': choose a file of the same drill"),
    ]:
        with pytest.raises(ValueError, match=words):
            evaluate("ball:bronze", **options)
    assert caplog.messages == [], "what is refused is not warned of as well"
