"""Runs put together from parts: what one composition has, the other has too."""

import time

import numpy as np
import pytest

from dshq_widget.contract.settings import TrainConfig, of_drill
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.ball import Ball
from dshq_widget.drills.bandit import Bandit
from dshq_widget.learning.evaluator import Evaluator
from dshq_widget.policy.network import PolicySpec
from dshq_widget.training.trainer import Trainer

pytestmark = pytest.mark.usefixtures("learners_in_threads")

PATIENCE = 300.0  # seconds
SMALL = {"num_envs": 64, "rollout_length": 8, "minibatch_size": 256, "hidden_sizes": (16,)}


def test_the_entropy_floor_of_an_environment_raises_the_bonus(caplog):
    """Two options never reach 5 nats, so nothing is good enough: training says so and continues."""
    quick = {"num_envs": 16, "rollout_length": 16, "hidden_sizes": (16,), "epochs": 1, "workers": 0}
    with Trainer("gym:tests.harness.games.gym_worlds:Easy-v0", min_entropy=5.0, entropy_coef=0.0, **quick) as trainer:
        trainer.start()
        assert trainer.wait(updates=40, progress=False) and trainer.error == ""
        trainer.stop()
        assert trainer.join(PATIENCE)
        assert trainer.metrics["entropy_coef"] == pytest.approx(0.1)
    said = [record.message for record in caplog.records if "entropy stayed below 5 nats" in record.message]
    assert said and "continuing with exploration raised by 0.01" in said[0]


def test_how_often_it_evaluates_and_saves_is_a_setting(tmp_path):
    assert of_drill(compile_drill(Ball).spec).evaluate_seconds == 1.5
    bandit = compile_drill(Bandit)
    assert of_drill(bandit.spec).evaluate_seconds == 0.25, "short with one side"
    evaluator = Evaluator(bandit, PolicySpec.for_drill(bandit.spec, (8,)), 0)
    assert evaluator.pause(TrainConfig(evaluate_seconds=7.0)) == 7.0
    with Trainer("bandit", workers=0, evaluate_seconds=1000, autosave_seconds=0.2, **SMALL) as trainer:
        saves: list[str] = []
        trainer._files.written, written = lambda path: (saves.append(path), written(path)), trainer._files.written
        trainer.start()
        deadline = time.monotonic() + PATIENCE
        while len(saves) < 3:
            assert trainer.error == "" and time.monotonic() < deadline, trainer.status_text
            time.sleep(0.05)
        assert "evaluated_return" not in trainer.metrics, "the first evaluation is far away"
        trainer.set_hyper(evaluate_seconds=0)
        while "evaluated_return" not in trainer.metrics:
            assert trainer.error == "" and time.monotonic() < deadline, trainer.status_text
            time.sleep(0.05)
    assert np.isfinite(trainer.metrics["evaluated_return"])
