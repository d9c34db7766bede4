"""PPO's further options in whole trainings, with real processes."""

import numpy as np
import pytest

from dshq_widget.contract.settings import TrainConfig, of_drill
from dshq_widget.env.batch import compiled
from dshq_widget.learning.evaluator import Evaluator
from dshq_widget.policy.network import PolicySpec
from dshq_widget.training.trainer import Trainer
from tests.harness.processes.faults import until
from tests.harness.processes.lockstep_runs import SMALL, assert_goes_on

pytestmark = pytest.mark.usefixtures("learners_in_threads")

OPTIONS = {
    "separate_value_net": True,
    "normalize_observations": True,
    "normalize_rewards": True,
    "priority_alpha": 0.5,
    "minibatch_order": "sequential",
    "clip_value": True,
}


@pytest.mark.slow
def test_with_every_option_a_new_process_goes_on_to_the_bit(tmp_path):
    """The normalisers' moments are in the file, too, and the weights in it play as they are."""
    with Trainer("ball", seed=3, workers=0, **SMALL, **OPTIONS) as trainer:
        saved = assert_goes_on(trainer, tmp_path / "half.dshq", more=45, beyond=40)
    assert saved.layers == (28, 32, 31)
    assert PolicySpec(saved.layers, separate=True).fits(saved.weights)
    moments = saved.state["normalizer.observations"]
    assert moments.shape == (2 * 28 + 1,) and moments[-1] > saved.step * 0.9


@pytest.mark.parametrize("workers", [0, 1])
def test_a_bandit_is_learned_with_every_option_and_validated(workers, caplog):
    """Rollout processes play the folded weights and know of no normaliser."""
    settings = {"num_envs": 256, "rollout_length": 16, "minibatch_size": 512, "hidden_sizes": (16,)}
    with Trainer("bandit", workers=workers, validate_every=7, **settings, **OPTIONS) as trainer:
        trainer.start()
        assert trainer.wait(updates=200, progress=False)
        rows = trainer.history
    errors = [row["validation_relative_error"] for row in rows if "validation_relative_error" in row]
    assert errors and 0 < max(errors) < 1e-3
    assert all(np.isfinite(row["loss_value"]) for row in rows if "loss_value" in row)
    assert rows[-1]["return_mean"] > 90, "of 100 right answers"
    said = [record.message for record in caplog.records if record.name.startswith("dshq_widget")]
    assert not [message for message in said if "not responding" not in message], "a busy machine may keep it waiting"


def test_a_shared_network_does_not_become_two():
    """The layers are the same, but one network's weights are not two: training begins anew."""
    halves = PolicySpec((1, 32, 3), separate=True)
    with Trainer("bandit", workers=0, num_envs=64, rollout_length=8, hidden_sizes=(32,)) as trainer:
        for change in ({}, {"separate_value_net": True, "hidden_sizes": (16,)}):
            trainer.start(**change)
            assert trainer.wait(updates=3, progress=False)
            trainer.stop()
            assert trainer.join(300)
            policy = trainer.latest_policy()
            assert policy.layers == (1, 32, 3) and policy.version > 0 and trainer.error == ""
            assert halves.fits(policy.weights) == bool(change)


@pytest.mark.parametrize("name", ["bandit", "gym:tests.harness.games.gym_worlds:Easy-v0"])
def test_a_policy_below_the_entropy_floor_gets_a_larger_bonus(name, caplog):
    """Two actions never reach 5 nats, so nothing is good enough: training says so and continues."""
    settings = {"num_envs": 64, "rollout_length": 8, "minibatch_size": 256, "hidden_sizes": (16,), "workers": 0}
    with Trainer(name, min_entropy=5.0, entropy_coef=0.0, epochs=1, **settings) as trainer:
        trainer.start()
        assert trainer.wait(updates=40, progress=False) and trainer.error == ""
        trainer.stop()
        assert trainer.join(300)
        assert trainer.metrics["entropy_coef"] == pytest.approx(0.1)
    said = [record.message for record in caplog.records if "entropy stayed below 5 nats" in record.message]
    assert len(said) == 5 and "continuing with exploration raised by 0.01" in said[0]


def test_how_often_it_evaluates_and_saves_is_a_setting():
    bandit = compiled("bandit")
    usual = [of_drill(compiled(name).spec).evaluate_seconds for name in ("ball", "bandit")]
    assert usual == [1.5, 0.25], "short with one side"
    evaluator = Evaluator(bandit, PolicySpec.for_drill(bandit.spec, (8,)), 0)
    assert evaluator.pause(TrainConfig(evaluate_seconds=7.0)) == 7.0
    quick = {"num_envs": 64, "rollout_length": 8, "minibatch_size": 256, "hidden_sizes": (16,), "workers": 0}
    with Trainer("bandit", evaluate_seconds=1000, autosave_seconds=0.2, **quick) as trainer:
        saves: list[str] = []
        trainer._run.files.written, written = (
            lambda path: (saves.append(path), written(path)),
            trainer._run.files.written,
        )
        trainer.start()
        until(lambda: trainer.error or len(saves) >= 3, "the third save")
        assert "evaluated_return" not in trainer.metrics, "the first evaluation is far away"
        trainer.set_hyper(evaluate_seconds=0)
        until(lambda: trainer.error or "evaluated_return" in trainer.metrics, "an evaluation")
    assert trainer.error == "" and np.isfinite(trainer.metrics["evaluated_return"])
