"""Drills of one side: their settings, the evaluator of returns, the target that ends training, the command line."""

import json

import pytest

from dshq_widget.cli.baseline_layout import NaiveGame
from dshq_widget.contract.setting import ConfigError
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import drills, get
from dshq_widget.drills.bandit import Bandit
from dshq_widget.policy.evaluate import evaluate_alone, network, opponent
from dshq_widget.training.trainer import Trainer
from tests.harness.command import process as command
from tests.harness.processes.faults import PATIENCE

pytestmark = pytest.mark.usefixtures("learners_in_threads")

ALONE = [name for name, drill in drills.items() if drill.sides == 1]
SOLVABLE = [name for name in ALONE if drills[name].target is not None]


def test_a_drills_own_settings_lie_between_the_defaults_and_what_is_given():
    with Trainer("cartpole", learning_rate=1e-3) as trainer:
        assert trainer.config.gamma == get("cartpole").training["gamma"] == 0.98
        assert trainer.config.learning_rate == 1e-3
        assert trainer.config.hidden_sizes == (64, 64)
    with Trainer("ball") as trainer:
        assert trainer.config.gamma == 0.995


def test_a_drills_wrong_settings_are_refused():
    class Hasty(Bandit):
        name = "hasty"
        training = {"learning_rat": 1.0}

    with pytest.raises(ConfigError, match="did you mean 'learning_rate'"):
        Trainer(Hasty)


def test_only_one_side_has_a_target():
    class Greedy(get("ball")):
        name = "greedy"
        target = 1.0

    with pytest.raises(ValueError, match="target .* is only for drills of one side"):
        compile_drill(Greedy)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "snake" else name for name in SOLVABLE]
)
def test_baselines_solve_and_chance_does_not(name):
    drill = compile_drill(get(name))
    solved = {who: evaluate_alone(drill, opponent(who, drill), 200) for who in (*drill.spec.baselines, "random")}
    chance = solved.pop("random")
    assert not chance["solved"]
    assert chance["return_min"] <= chance["ci95"][0] < chance["return_mean"] < chance["ci95"][1] < chance["return_max"]
    assert all(result["solved"] for result in solved.values())
    assert chance == evaluate_alone(drill, opponent("random", drill), 200), "the same seeds every time"


def test_what_waits_for_the_wrong_thing_says_so():
    with Trainer("cartpole") as alone, Trainer("ball") as two:
        with pytest.raises(
            ValueError, match=r"'cartpole' has one side, so it has no win rate: use wait\(return_mean=\)"
        ):
            alone.wait(win_rate=0.5)
        with pytest.raises(ValueError, match=r"'ball' has two sides: use wait\(win_rate=\)"):
            two.wait(return_mean=1)
        with pytest.raises(ValueError, match="'ball' has none"):
            two.start(until_solved=True)
        with pytest.raises(ConfigError, match="one side, so there is no opponent"):
            alone.set_hyper(opponents={"random": 1.0})


@pytest.mark.parametrize(
    "name", [name if name == "bandit" else pytest.param(name, marks=pytest.mark.slow) for name in SOLVABLE]
)
def test_training_ends_with_the_policy_that_solved_it(name):
    """Judged again by other seeds, it is about as good."""
    with Trainer(name, seed=1) as trainer:
        trainer.start(until_solved=True)
        target = trainer.drill.spec.target
        assert trainer.wait(return_mean=target, progress=False)
        assert trainer.join(PATIENCE)
        assert trainer.status == "stopped" and "solved" in trainer.status_text
        metrics, newest = trainer.metrics, trainer.latest_policy()
    assert metrics["solved"] == 1 and metrics["evaluated_return"] >= target
    assert metrics["version"] == newest.version
    found = evaluate_alone(trainer.drill, network(newest.layers, newest.activation, newest.weights), 200, seed=9)
    assert found["return_mean"] > 0.9 * target


@pytest.mark.slow
def test_the_command_line_trains_to_the_target_and_evaluates(tmp_path):
    path = tmp_path / "pole.dshq"
    said = json.loads(command("train", "cartpole", "--out", path, "--json").stdout.splitlines()[-1])
    assert said["agent_steps"] <= 6_000_000 and said["metrics"]["evaluated_return"] >= 475  # measured: 100,000
    found = json.loads(command("evaluate", path, "--matches", 100, "--json").stdout.splitlines()[-1])
    assert found["episodes"] == 100 and found["target"] == 475
    assert found["ci95"][0] <= found["return_mean"] <= found["ci95"][1]
    assert found["episode_length_mean"] == found["return_mean"] > 400
    assert "mean return" in command("evaluate", path, "--matches", 20).stdout
    assert "one side" in command("evaluate", path, "--against", "random", expect=2).stderr


@pytest.mark.parametrize(
    "name", [name if name in ("bandit", "cartpole") else pytest.param(name, marks=pytest.mark.slow) for name in ALONE]
)
def test_the_plain_layout_plays_it_too(name):
    """`dshq bench` measures it as a floor, also where `decide` has nothing to do."""
    assert NaiveGame(compile_drill(get(name))).rate(64, 0.01) > 0
