"""`dshq info` and `dshq config`: tables of a drill, and a file of a run with every setting."""

import re

import numpy as np
import pytest
import yaml

from dshq_widget import algorithms
from dshq_widget.cli import run_plan
from dshq_widget.cli.arguments import parser
from dshq_widget.cli.main import VERBS
from dshq_widget.contract import run_file
from dshq_widget.contract.settings import of_drill
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills
from dshq_widget.env.debugging import debug
from dshq_widget.training.any_drill import compiled
from dshq_widget.training.run.config import RunConfig
from tests.harness.command import answer, dshq


@pytest.mark.parametrize("name", drills)
def test_every_number_that_a_network_reads_and_says_has_a_meaning(name):
    found, spec = answer("info", name), compile_drill(drills[name]).spec
    assert [row["index"] for row in found["observations"]] == list(range(spec.n_obs))
    assert set(found["observations"][0]) == {"index", "name", "scale", "unit"}
    assert len(found["meanings"]) == spec.n_obs and all(found["meanings"])
    assert [row["index"] for row in found["actions"]] == list(range(spec.n_actions))
    assert len({tuple(row.items()) for row in found["actions"]}) == spec.n_actions
    assert {row["name"] for row in found["rewards"]} == {term.name for term in spec.terms}


def test_the_number_of_an_action_is_the_one_that_games_take():
    game = debug("ball", seed=1)
    for row in answer("info", "ball")["actions"]:
        options = {key: option for key, option in row.items() if key != "index"}
        assert game._number(options) == row["index"]


def test_a_field_lies_where_the_table_says():
    game = debug("cartpole", seed=1)
    words = game.tile.view(np.float32).reshape(-1)
    [row] = [row for row in answer("info", "cartpole")["state"] if row["field"] == "angle"]
    assert words[16 * row["word"]] == np.float32(game.state["angle"]) != 0


def test_people_get_the_same_as_a_table():
    said = dshq("info", "cartpole").stdout
    assert "pole angle" in said and "rad/s" in said and "push" in said and "from upright, to the right" in said
    assert "more: --json has all" in dshq("info", "maze").stdout


@pytest.mark.parametrize("name", algorithms.algorithms)
def test_a_template_is_a_run_of_defaults_and_each_line_can_be_taken_up(name, tmp_path):
    text = dshq("config", "--template", name).stdout
    path = tmp_path / "run.yaml"
    path.write_text(text)
    file = run_file.read(path, run_plan._with_settings())
    assert file.core == {} and file.run["algorithm"] == name
    taken = [re.sub(r"^  # (?=[a-z_]+: )(?!(seconds|out|log_dir):)", "  ", line) for line in text.splitlines()]
    path.write_text("\n".join(taken))
    plan = run_plan.of(parser(VERBS).parse_args(["train", "--config", str(path)]))
    algorithm = algorithms.get(name)
    begun = RunConfig(compiled(file.run["drill"]), algorithm).section
    assert len(plan.hyper) > 3 and (begun is None or algorithm.settings(**plan.own[name]) == begun)


@pytest.mark.parametrize("name", ["ball", "cartpole"])
def test_a_template_has_the_drills_own_values(name):
    text = dshq("config", "--template", "ppo", "--drill", name).stdout
    begun = of_drill(compile_drill(drills[name]).spec).to_json()
    found = yaml.safe_load("\n".join(re.findall(r"^  # ([a-z_]+: .*)$", text.partition("training_core:")[2], re.M)))
    assert len(found) > 20 and found == {key: begun[key] for key in found}


def test_what_has_no_tables_is_a_sentence():
    assert "has no rules of its own" in dshq("info", "gym:CartPole-v1", expect=2).stderr
    assert "did you mean 'maze'" in dshq("config", "--template", "ppo", "--drill", "maz", expect=2).stderr
    assert "gate judges spawns" in dshq("config", "--template", "gate", "--drill", "ball", expect=2).stderr
    text = dshq("config", "--template", "ppo", "--drill", "gym:CartPole-v1").stdout
    assert "drill: gym:CartPole-v1\n" in text and "as the file or the environment has it" in text
    assert "Did you mean 'gate'" in dshq("config", "--template", "gatee", expect=2).stderr
