"""Any algorithm may train: a toy one is known by one line of the registry, and needs nothing else."""

import time

import numpy as np
import pytest

from dshq_widget import algorithms
from dshq_widget.policy import checkpoint
from dshq_widget.training.trainer import Trainer
from tests.harness.browser.recorded_widget import bundle, make, until  # noqa: F401  # fixtures
from tests.harness.games.random_search import ALGORITHM

SEARCH = {"num_envs": 64, "rollout_length": 100, "hidden_sizes": (8,), "learning_rate": 0.3}
PATIENCE = 300.0  # seconds


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setitem(algorithms.algorithms, ALGORITHM.name, ALGORITHM)


def trained(trainer: Trainer, enough: float) -> None:
    """Train until the evaluated return is `enough` of 100 right answers."""
    trainer.start()
    deadline = time.monotonic() + PATIENCE
    while trainer.metrics.get("evaluated_return", 0) < enough:
        assert trainer.error == "" and time.monotonic() < deadline, trainer.status_text
        time.sleep(0.05)


def test_a_toy_algorithm_trains_saves_and_continues(tmp_path):
    with Trainer("bandit", algorithm="random_search", **SEARCH) as trainer:
        trained(trainer, 95)
        path = trainer.save(tmp_path / "search.dshq")
        assert trainer.version > 1 and {"return_mean", "updates", "memory_mb"} <= set(trainer.metrics)
    saved = checkpoint.load(path)
    assert saved.state["train.search"] > 0.9 and saved.version > 1
    with Trainer(path, algorithm="random_search") as again:
        assert again.version == saved.version and np.array_equal(again.latest_policy().weights, saved.weights)
        trained(again, 95)
        until(lambda: again.version > saved.version and again.metrics["agent_steps"] > saved.step)


def test_its_versions_reach_the_page(make):  # noqa: F811
    widget = make("bandit", algorithm="random_search", **SEARCH)
    widget.train()

    def sent() -> list[int]:
        """Versions that the page, which acknowledges everything, has been sent."""
        widget.comm.say({"type": "ACK", "seq": widget.seq})
        return [state["policy"]["version"] for state in widget.comm.updates() if "policy" in state]

    until(lambda: max(sent(), default=0) > 2)
    assert sent() == sorted(sent())
    widget.stop()


def test_an_algorithm_that_is_not_known_is_a_sentence():
    with pytest.raises(
        ValueError, match="no algorithm 'pp0'. Known algorithms: ppo, gate, random_search. Did you mean 'ppo'"
    ):
        Trainer("bandit", algorithm="pp0")
