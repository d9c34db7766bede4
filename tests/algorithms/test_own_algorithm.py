"""An algorithm of your own, docs/examples/reinforce.py: no line of the package names it, and it does what others do."""

import dataclasses
import sys
import types
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from dshq_widget import algorithms, extend
from dshq_widget.cli import run_plan
from dshq_widget.contract import metrics
from dshq_widget.policy import checkpoint
from dshq_widget.training.evaluation import evaluate
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import page_protocol
from tests.harness.command import answer, dshq

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
QUICK = {"num_envs": 64, "rollout_length": 100, "hidden_sizes": (8,), "learning_rate": 0.05}

pytestmark = pytest.mark.usefixtures("learners_in_threads")


@pytest.fixture(autouse=True)
def example(monkeypatch):
    """The registry and the metrics are as before afterwards."""
    monkeypatch.setattr(algorithms, "algorithms", dict(algorithms.algorithms))
    monkeypatch.setattr(metrics, "METRICS", dict(metrics.METRICS))
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield
    sys.modules.pop("reinforce", None)


def declared() -> extend.Algorithm:
    import reinforce

    return reinforce.ALGORITHM


def test_it_trains_changes_saves_goes_on_and_is_evaluated(tmp_path):
    with Trainer("bandit", algorithm=declared(), **QUICK) as trainer:
        trainer.start()
        assert trainer.wait(updates=20, progress=False)
        trainer.set_hyper(**{"reinforce.baseline": 0.25})
        assert trainer.wait(updates=25, progress=False)
        path = trainer.save(tmp_path / "mine.dshq")
        assert trainer.algorithm_settings == {"baseline": 0.25}
        assert trainer.metrics["baseline_error"] > 0
    saved = checkpoint.load(path)
    assert saved.algorithm == "reinforce" and saved.algorithm_settings == {"baseline": 0.25}
    with Trainer(path) as again:
        assert again.algorithm == "reinforce" and np.array_equal(again.latest_policy().weights, saved.weights)
        again.start()
        assert again.wait(updates=40, progress=False)
        better = again.save(tmp_path / "more.dshq")
    found = evaluate(better, matches=50)
    assert found["return_mean"] > found["return_mean_random"] + 20


def test_the_page_shows_its_settings_its_chart_and_its_panel():
    with Trainer("bandit", algorithm=declared(), **QUICK) as trainer:
        config = page_protocol.config(trainer)
    own = config["algorithm"]
    assert (
        own["name"] == "reinforce"
        and own["schema"]["baseline"]["help"] == "Weight of the baseline's error beside the policy's loss."
    )
    assert [(curve["title"], curve["lines"]) for curve in own["curves"]] == [("Baseline", {"baseline_error": "error"})]
    panel = own["panel"]
    assert panel["title"] == "Baseline" and panel["help"]
    assert [row["key"] for row in panel["rows"]] == ["baseline_error", "loss_policy"]
    error = {"name": "Mean error", "unit": "reward", "help": "Mean absolute error of the baseline."}
    assert panel["rows"][0] == {"key": "baseline_error", **error}
    assert set(config["schema"]) >= {"gamma", "seed"} and "clip_epsilon" not in config["schema"]


def test_the_command_line_takes_a_module_and_a_run_file_does_not(tmp_path, monkeypatch):
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", str(EXAMPLES))])
    out = tmp_path / "mine.dshq"
    how = ["--updates", "3", "--num-envs", "64", "--reinforce-baseline", "0.125", "--out", str(out)]
    said = answer("train", "bandit", "--algorithm", "reinforce:ALGORITHM", *how)
    assert said["algorithm"] == "reinforce" and checkpoint.load(out).algorithm_settings == {"baseline": 0.125}
    written = tmp_path / "run.yaml"
    written.write_text("run: {drill: bandit, algorithm: 'reinforce:ALGORITHM'}\n")
    assert "give that yourself, --algorithm reinforce:ALGORITHM" in dshq("train", "--config", written, expect=2).stderr
    assert "nowhere" in dshq("train", "bandit", "--algorithm", "nowhere:ALGORITHM", expect=2).stderr


@pytest.mark.processes
def test_its_own_process_finds_its_module():
    with Trainer("bandit", algorithm=declared(), workers=0, **QUICK) as trainer:
        trainer.start()
        assert trainer.wait(updates=2, progress=False), trainer.status_text


def test_an_installed_package_brings_one(monkeypatch):
    entry = types.SimpleNamespace(value="reinforce:ALGORITHM", load=declared)
    known = {"reinforce": [entry], "wrong": [types.SimpleNamespace(value="reinforce:run", load=lambda: 3)]}
    monkeypatch.setattr(metadata, "entry_points", lambda group, name: known.get(name, []))
    assert algorithms.get("reinforce") is declared()
    with pytest.raises(ValueError, match="wanted an Algorithm .* in 'reinforce:run', got 3"):
        algorithms.get("wrong")


def test_a_file_runs_no_module(tmp_path):
    with Trainer("bandit", algorithm=declared(), **QUICK) as trainer:
        plain = checkpoint.load(trainer.save(tmp_path / "mine.dshq"))
    with pytest.raises(checkpoint.CheckpointError, match="the name of its algorithm is not one"):
        checkpoint.encode(dataclasses.replace(plain, algorithm="reinforce:ALGORITHM"))
    checkpoint.save(tmp_path / "other.dshq", dataclasses.replace(plain, algorithm="other"))
    with pytest.raises(ValueError, match="there is no algorithm 'other'"):
        Trainer(tmp_path / "other.dshq")


def test_what_is_declared_wrongly_is_a_sentence():
    with pytest.raises(ValueError, match="there is an algorithm 'ppo' in the package"):
        algorithms.chosen(dataclasses.replace(declared(), name="ppo"))
    with pytest.raises(ValueError, match="a shared setting 'gama' that is not there; did you mean 'gamma'"):
        dataclasses.replace(declared(), reads=("gama",))
    with pytest.raises(ValueError, match="declares a metric 'entropy', and there is another one"):
        dataclasses.replace(declared(), metrics={"entropy": extend.Metric("TRAINER", "", "Mine.")})
    with pytest.raises(ValueError, match="a curve of 'nothing', which is no metric"):
        dataclasses.replace(declared(), curves=(extend.Curve("Nothing", "Nothing.", {"nothing": "n"}),))
    with pytest.raises(ValueError, match="a panel of 'nothing', which is no metric"):
        dataclasses.replace(declared(), panel=extend.Panel("Nothing", "Nothing.", {"nothing": "n"}))
    with pytest.raises(ValueError, match="a panel's title of 1 to 20 letters, got ''"):
        extend.Panel("", "Nothing.")
    with pytest.raises(ValueError, match="write it into a file"):
        extend.one_process("__main__:run")


def test_the_plan_of_a_run_has_its_own_settings_only(monkeypatch):
    assert "reinforce" not in run_plan._with_settings()
    algorithms.chosen(declared())
    assert "reinforce" in run_plan._with_settings()
