"""What the command line says with `--json` is what docs/contract.md has."""

import json

import pytest

from dshq_widget import algorithms
from dshq_widget.cli import main
from dshq_widget.contract.json_fields import JSON_FIELDS
from dshq_widget.contract.metrics import METRICS
from tests.harness.command import answer

TWO_SIDES = {"against", "matches", "wins", "draws", "losses", "win_rate", "win_share", "points", "counts"}
TWO_SIDES |= {"mean_goals_for", "mean_goals_against"}
ONE_SIDE = {"episodes", "return_std", "return_min", "return_max", "target", "solved", "optimality"}
ONE_SIDE |= {"return_mean_random", "return_mean_scripted"}


def test_every_verb_has_its_table():
    plugged = {verb.__name__: verb for verb in main.plugged()}
    assert {verb.__name__ for verb in main.VERBS} == set(JSON_FIELDS)
    for name, verb in plugged.items():
        assert verb.answers and all(key.split()[0] == name for key in verb.answers)


@pytest.mark.parametrize(
    ("command", "left_out"),
    [
        (("info", "bandit"), set()),
        (("config", "--template", "ppo"), set()),
        (("doctor",), set()),
        (("check", "bandit", "--debug"), set()),
        (("trace", "bandit", "--ticks", 8), {"games", "max_abs_error", "unequal", "adapter"}),
        (("evaluate", "ball:bronze", "--against", "random", "--matches", 4), {"search", *ONE_SIDE}),
        (("train", "bandit", "--updates", 1, "--num-envs", 16), set()),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_an_answer_has_all_fields_of_its_table(command, left_out):
    assert set(answer(*command)) == set(JSON_FIELDS[command[0]]) - left_out


def test_an_algorithm_names_what_it_adds():
    for algorithm in algorithms.algorithms.values():
        added = set(algorithm.summary({}))
        assert set(algorithm.answers) <= added <= {*algorithm.answers, *METRICS}, algorithm.name
        assert not added & set(JSON_FIELDS["train"]), algorithm.name


def test_an_answer_about_one_side_has_what_is_left(tmp_path):
    file = tmp_path / "bandit.dshq"
    answer("train", "bandit", "--updates", 1, "--num-envs", 16, "--out", file)
    said = answer("evaluate", file, "--matches", 4)
    assert set(said) == set(JSON_FIELDS["evaluate"]) - TWO_SIDES - {"search", "optimality"}
    assert answer("export", file, "--to-json", tmp_path / "bandit.json").keys() == {"policy", "drill", "to_json"}
    assert json.loads((tmp_path / "bandit.json").read_text())
