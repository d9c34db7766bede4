"""Runs of algorithm spo: through the trainer, from and to files, on the command line, with settings that change."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pytest

from dshq_widget import evaluate
from dshq_widget.algorithms.algorithm import Refused
from dshq_widget.algorithms.spo import evaluation as spo_evaluation
from dshq_widget.algorithms.spo import searches
from dshq_widget.algorithms.spo.evaluation import EPISODES
from dshq_widget.algorithms.spo.learner import SpoLearner
from dshq_widget.algorithms.spo.replay import Replay
from dshq_widget.algorithms.spo.run import Searching
from dshq_widget.algorithms.spo.settings import SpoSettings
from dshq_widget.cli.main import main
from dshq_widget.contract.metrics import metric_named
from dshq_widget.contract.setting import ConfigError
from dshq_widget.policy import checkpoint
from dshq_widget.policy import evaluate as policy_evaluate
from dshq_widget.policy.evaluate import evaluate_alone
from dshq_widget.policy.network import PolicySpec
from dshq_widget.training.any_drill import compiled
from dshq_widget.training.trainer import Trainer
from tests.harness.processes.faults import until
from tests.harness.processes.lockstep_runs import whole_and_in_halves

pytestmark = pytest.mark.usefixtures("learners_in_threads")

QUICK = {"num_envs": 32, "rollout_length": 16, "hidden_sizes": (16,)}
FEW = {
    "num_particles": 8,
    "search_depth": 2,
    "replay_buffer_size": 2048,
    "sample_sequence_length": 8,
}


def test_train_save_and_go_on_to_the_bit(tmp_path):
    """Games, replay, networks, optimisers, dual variables and generators: all of it is in the file."""
    how = {"algorithm": "spo", "seed": 3, "deterministic": True, "spo": FEW, **QUICK}
    ahead, half, after = whole_and_in_halves("bandit", tmp_path, 8, **how)
    assert (half.algorithm, half.version, half.algorithm_settings["num_particles"]) == ("spo", 8, 8)
    for key in ("agent_steps", "updates", "simulated_steps"):
        assert after.metrics[key] == ahead.metrics[key], key


def test_it_learns_and_says_what_the_searches_cost():
    with Trainer("bandit", algorithm="spo", spo=FEW, **QUICK) as trainer:
        trainer.train_for(agent_steps=60_000, until_solved=True, progress=False)
        metrics = trainer.metrics
        assert metrics["evaluated_return"] > 90 and metrics["searched_return"] > 95
        assert metrics["simulated_steps"] == trainer.summary["simulated_steps"]
        assert metrics["agent_steps"] * 8 < metrics["simulated_steps"] <= metrics["agent_steps"] * 16
        assert 0 < metrics["search_ess"] <= 1 and 0 <= metrics["search_alive"] <= 1
        assert all(metric_named(key) for key in metrics)
        evaluated = {key for key in metrics if metric_named(key).category == "EVALUATOR"}
        assert evaluated == {"evaluated_return", "solved", "episodes", "duration_ms"}


def test_against_the_script_of_a_drill_of_two_sides(tmp_path):
    """What a run says of the policy with search is what its file does in the same matches."""
    shares = {"self": 0.5, "random": 0.5}
    with Trainer("chase", algorithm="spo", spo=FEW, opponents=shares, evaluate_seconds=3600, **QUICK) as trainer:
        trainer.train_for(updates=1, progress=False)
        assert trainer.metrics["agent_steps"] == 32 * 16
        told, path = trainer.metrics["searched_win_rate"], trainer.save(tmp_path / "chase.dshq")
    found = evaluate(path, against="scripted", matches=EPISODES, search=f"{FEW['num_particles']},{FEW['search_depth']}")
    assert found["win_rate"] == pytest.approx(told) and 0 < told < 1
    assert evaluate(path, against="scripted", matches=EPISODES)["win_rate"] != pytest.approx(told), "it searches"


@pytest.mark.parametrize(
    "own",
    [
        {"resampling_period": 1, "search_gae_lambda": 0.5, "search_gamma": 0.9, "epsilon": 0.75},
        {"resampling": "ess", "resampling_ess_threshold": 0.75, "adaptive_temperature": False, "fixed_temperature": 2},
    ],
)
def test_a_run_and_its_file_are_evaluated_with_the_runs_own_search(own, tmp_path, monkeypatch):
    """All of its settings, but without the noise of training."""
    heard = []

    def played(*given, searching=None, **how):
        heard.extend([searching.how] if searching else [])
        return evaluate_alone(*given, searching=searching, **how)

    monkeypatch.setattr(spo_evaluation, "evaluate_alone", played)
    monkeypatch.setattr(policy_evaluate, "evaluate_alone", played)
    spo = {**FEW, **own, "root_exploration_dirichlet_fraction": 0.25}
    with Trainer("bandit", algorithm="spo", spo=spo, evaluate_seconds=3600, **QUICK) as trainer:
        trainer.train_for(updates=1, progress=False)
        temperature, path = trainer.metrics["temperature"], trainer.save(tmp_path / "bandit.dshq")
    evaluate(path, matches=16, search=f"{FEW['num_particles']},{FEW['search_depth']}")
    run, file = heard
    for given in (run, file):
        period = 0 if "resampling" in own else own["resampling_period"]
        assert (given.particles, given.depth, given.period) == (FEW["num_particles"], FEW["search_depth"], period)
        assert given.temperature == pytest.approx(temperature) and (given.greedy, given.fraction) == (True, 0.0)
        assert given.least_ess == own.get("resampling_ess_threshold", 0.5) and given.epsilon == own.get("epsilon", 0.5)
        assert given.gamma == pytest.approx(own.get("search_gamma", 0.0))
        assert given.gae_lambda == pytest.approx(own.get("search_gae_lambda", 1.0))
    saved = checkpoint.load(path)
    assert searches(dataclasses.replace(saved, state={}))["temperature"] == own.get("fixed_temperature", 0.0)
    with pytest.raises(ValueError, match="spo.duals"):
        searches(dataclasses.replace(saved, state={"train.spo.duals": np.zeros(3)}))


def test_earlier_versions_play_and_are_rated(tmp_path):
    """Games and searches of the pool are against the league's choice, and a file continues with the same ones."""
    few = {"opponents": {"self": 0.5, "pool": 0.5}, "num_envs": 64, "rollout_length": 16, "hidden_sizes": (16,)}
    how = {"algorithm": "spo", "seed": 3, "deterministic": True, "spo": FEW, **few}
    with Trainer("sumo", **how) as whole:
        whole.train_for(updates=8, progress=False)
        rows, ahead, numbers = whole.league, whole.latest_policy(), whole.metrics
    assert {row["version"] for row in rows if not row["pinned"]} == {0}
    assert {"random", "pusher"} <= {row["name"] for row in rows}
    with Trainer("sumo", **how) as first:
        first.train_for(updates=4, progress=False)
        path = first.save(tmp_path / "half.dshq")
    with Trainer(path) as second:
        second.train_for(updates=4, progress=False)
        assert np.array_equal(second.latest_policy().weights, ahead.weights)
        assert second.metrics["elo"] == pytest.approx(numbers["elo"])


def test_settings_change_while_it_runs():
    with Trainer("bandit", algorithm="spo", spo=FEW, **QUICK) as trainer:
        trainer.start()
        assert trainer.wait(updates=3, progress=False)
        assert trainer.metrics["temperature"] != 0.25
        trainer.set_hyper(spo={"adaptive_temperature": False, "fixed_temperature": 0.25})
        until(lambda: trainer.metrics["temperature"] == 0.25)


def test_other_reward_weights_empty_the_replay(monkeypatch):
    """It holds what the old ones added up to."""
    kept, clear = [], Replay.clear
    monkeypatch.setattr(
        Replay, "clear", lambda replay: (kept.append(len(replay)), clear(replay), kept.append(len(replay)))
    )
    with Trainer("bandit", algorithm="spo", spo=FEW, **QUICK) as trainer:
        trainer.start()
        assert trainer.wait(updates=6, progress=False)
        (term,) = list(trainer.drill.spec.terms)[:1]
        trainer.set_hyper(reward_weights={term.name: -1.0})
        until(lambda: len(kept) == 2)
        held = trainer.version
        until(lambda: trainer.version > held + 2)
    assert kept[0] > 0 == kept[1]


def test_a_run_that_goes_on_searches_with_the_noise_that_it_had():
    learner = SpoLearner(PolicySpec.for_drill(compiled("bandit").spec, (8,)), SpoSettings(), 0)
    Searching(learner).begin(SimpleNamespace(entropy_bonus=0.04))
    assert learner.noise == 0.04


@pytest.mark.parametrize(
    ("drill", "given", "sentence"),
    [
        ("bandit", {"spo": {"particles": 5}}, "unknown setting 'particles' in section spo"),
        ("bandit", {"spo": {"search_depth": 0}}, "spo.search_depth must be a whole number from 1 to 64"),
        ("bandit", {"normalize_rewards": True}, "normalize_rewards cannot be set: the algorithm spo needs False"),
        ("bandit", {"device": "cuda"}, "spo searches on the CPU"),
    ],
)
def test_wrong_wishes_are_a_sentence(drill, given, sentence):
    with pytest.raises((ConfigError, Refused), match=sentence):
        Trainer(drill, algorithm="spo", **given)


def test_a_replay_that_is_too_small_says_what_would_do():
    sentence = "replay_buffer_size must hold 34 decisions of each of 64 games"
    with (
        Trainer("bandit", algorithm="spo", spo={"replay_buffer_size": 64}) as trainer,
        pytest.raises(RuntimeError, match=sentence),
    ):
        trainer.train_for(updates=1, progress=False)


def test_the_command_line_trains_and_evaluates_by_search(tmp_path, capsys):
    bot = tmp_path / "bot.dshq"
    flags = [f"--spo-{key.replace('_', '-')}={value}" for key, value in FEW.items()]
    train = ["train", "maze", "--algorithm", "spo", "--updates", "3", "--num-envs", "32", "--rollout-length", "16"]
    assert main([*train, *flags, "--out", str(bot), "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (
        told["algorithm"] == "spo" and told["agent_steps"] >= 3 * 512 and told["simulated_steps"] > told["agent_steps"]
    )
    text = bot.with_suffix(".yaml").read_text()
    assert "algorithm: spo" in text and "num_particles: 8" in text

    def evaluated(*how):
        assert main(["evaluate", str(bot), "--matches", "60", "--json", *how]) == 0
        return json.loads(capsys.readouterr().out.splitlines()[-1])

    alone, none, searched = evaluated(), evaluated("--search", "0,0"), evaluated("--search", "16,4")
    assert alone == none and searched["search"] == [16, 4] and "search" not in alone
    assert searched["return_mean"] > alone["return_mean"] + 0.3  # three updates know little; looking ahead knows more
    assert searched == evaluated("--search", "16,4")
    for wrong, sentence in (("16", "wanted K,DEPTH"), ("0,4", "particles of a search"), ("a,b", "wanted K,DEPTH")):
        assert main(["evaluate", str(bot), "--search", wrong]) == 2
        assert sentence in capsys.readouterr().err


def test_search_makes_a_shipped_policy_of_two_sides_stronger(capsys):
    """Bronze with search beats bronze without: decided matches, the lower end of the interval above one half."""
    assert (
        main(["evaluate", "ball:bronze", "--against", "ball:bronze", "--matches", "240", "--search", "16,4", "--json"])
        == 0
    )
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["ci95"][0] > 0.5
