"""Predicted rewards of the gate's actions: learned from what was done, beside a policy that stays as it is."""

import dataclasses

import numpy as np
import pytest

from dshq_widget.algorithms.gate.action_rewards import LAYOUT, NAMES, ActionRewards, known, taken
from dshq_widget.algorithms.gate.continuous_trainer import ContinuousTrainer
from dshq_widget.algorithms.gate.experience import ExperienceBuffer
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.training.trainer import Trainer
from tests.harness.games.decisions import experience, features
from tests.harness.processes.lockstep_runs import whole_and_in_halves

pytestmark = pytest.mark.usefixtures("learners_in_threads")


def paid(x):
    """Rewards `[n, 3]` that depend on the state, and of each action in another way."""
    workers, energy = x[:, 1:25:5].sum(axis=1), x[:, 25]
    return np.stack([-0.5 * energy, 0.2 * workers - 0.2, energy - 0.3 * workers], axis=1)


def fitted(actions=None, steps=1500, n=2000):
    """Predictions learned from one action a state."""
    rng, rewards = np.random.default_rng(0), ActionRewards(1)
    x = features(rng, n)
    done = rng.integers(0, 3, n) if actions is None else np.full(n, actions)
    came = paid(x)[np.arange(n), done] + rng.normal(0, 0.2, n)  # what comes is noisy
    for _ in range(steps):
        rows = rng.integers(0, n, 32)
        rewards.learn(x[rows], done[rows], came[rows], np.ones(32), 0.002)
    return rewards


def filled(n=64, **changes):
    buffer, rng = ExperienceBuffer(1000), np.random.default_rng(3)
    for x in features(rng, n):
        buffer.add(experience(observation=x, spawn_chunk=int(rng.integers(400)), nn_confidence=1 / 800, **changes))
    return buffer


class TestActionRewards:
    def test_they_order_states_that_nobody_has_learned_from(self):
        x = features(np.random.default_rng(7), 1000)
        predicted, true = fitted().predict(x), paid(x)
        for k, name in enumerate(NAMES):
            assert np.corrcoef(predicted[:, k], true[:, k])[0, 1] > 0.8, name
            error = np.sqrt(((predicted - true)[:, k] ** 2).mean())
            assert error < 0.7 * true[:, k].std(), f"{name}: the best constant's error is the deviation"

    def test_only_the_action_that_was_taken_is_fitted(self):
        rewards = fitted(actions=1, steps=50)
        assert not rewards.network.views["wa"][:, [0, 2]].any() and not rewards.network.views["ba"][[0, 2]].any()
        assert rewards.network.views["wa"][:, 1].any() and rewards.network.views["ba"][1]

    def test_gradients_are_those_of_finite_differences(self):
        rng, rewards = np.random.default_rng(2), fitted(steps=20)
        x, actions, came, weights = features(rng, 8), rng.integers(0, 3, 8), rng.normal(size=8), rng.random(8)

        def loss(flat):
            rewards.network.flat[:] = flat
            error = rewards.predict(x.astype(np.float64))[np.arange(8), actions] - came
            return (weights * error**2).mean() / 2

        before = rewards.network.flat.copy()
        slopes = []
        at = rng.integers(0, LAYOUT.size, 40)
        for k in at:
            step = np.zeros(LAYOUT.size, np.float32)
            step[k] = 1e-2
            slopes.append((loss(before + step) - loss(before - step)) / 2e-2)
        rewards.network.flat[:] = before
        rewards.adam.mean[:] = 0
        rewards.learn(x, actions, came, weights, 0.0)
        np.testing.assert_allclose(rewards.adam.mean[at] / 0.1, slopes, atol=2e-3)

    def test_what_was_done(self):
        buffer = ExperienceBuffer(10)
        for kind, sent in (("energy", False), ("combat", False), ("energy", True), ("combat", True)):
            buffer.add(experience(spawn_type=kind, was_executed=sent, territory_id=len(buffer)))
        buffer.complete(3, 0.5)
        batch = buffer.newest(4)
        assert taken(batch).tolist() == [0, 0, 1, 2]
        assert known(batch).tolist() == [True, True, False, True], "a sent one is pending"


class TestTrainer:
    def test_the_policy_learns_the_same_with_and_without_them(self):
        buffer = filled(was_executed=False, gate_signal=-0.3)
        one, other = (ContinuousTrainer(buffer, GateSettings(action_rewards=given)) for given in (True, False))
        for _ in range(20):
            said, without = one.step(), other.step()
            assert said.pop("loss_action_rewards") > 0 and said == without
        learned = [trainer.get_model_for_inference().network.flat for trainer in (one, other)]
        assert np.array_equal(*learned)
        assert one.action_rewards.predict(buffer.newest(20)["observation"])[:, 0].mean() < -0.005
        assert other.action_rewards is None

    def test_what_is_pending_is_not_fitted(self):
        trainer = ContinuousTrainer(filled(was_executed=True, actual_reward=None), GateSettings(action_rewards=True))
        assert trainer.step()["loss_action_rewards"] == 0
        assert not trainer.action_rewards.predict(trainer.buffer.newest(20)["observation"]).any()


class TestRun:
    def test_a_run_reports_and_saves_them(self, tmp_path):
        how = {"seed": 3, "gate": {"action_rewards": True, "territories": 4}}
        ahead, _, after = whole_and_in_halves("territory", tmp_path, 40, **how)
        assert all(np.isfinite(ahead.metrics[f"predicted_{name}"]) for name in NAMES)
        assert ahead.metrics["predicted_wait"] < 0
        a, b = ahead.state, after.state
        assert np.array_equal(a["train.gate.predictor"], b["train.gate.predictor"])
        assert a["train.gate.predictor_steps"] == b["train.gate.predictor_steps"] > 20

    @pytest.mark.parametrize("head", [False, True])
    def test_a_file_without_them_goes_on_with_or_without_them(self, tmp_path, head):
        """Also one whose network predicts one number a state."""
        with Trainer("territory", gate={"reward_head": head, "territories": 4}) as trainer:
            trainer.train_for(updates=20, progress=False)
            path = trainer.save(tmp_path / "old.dshq")
        saved = checkpoint.load(path)
        unsaid = {key: value for key, value in saved.algorithm_settings.items() if key != "action_rewards"}
        checkpoint.save(path, dataclasses.replace(saved, algorithm_settings=unsaid))
        policies = []
        for more in ({}, {"gate": {"action_rewards": True}}):
            with Trainer(path, **more) as second:
                second.train_for(updates=10, progress=False)
                assert second.version == 30 and second.algorithm_settings["reward_head"] is head
                assert ("predicted_wait" in second.metrics) is bool(more)
                policies.append(second.latest_policy().weights)
        assert np.array_equal(*policies)

    def test_predictions_that_nobody_can_go_on_from_are_refused(self, tmp_path):
        with Trainer("territory", gate={"action_rewards": True, "territories": 4}) as trainer:
            trainer.train_for(updates=10, progress=False)
            path = trainer.save(tmp_path / "whole.dshq")
        saved = checkpoint.load(path)
        broken = saved.state | {"train.gate.predictor": saved.state["train.gate.predictor"][:2]}
        checkpoint.save(path, dataclasses.replace(saved, state=broken))
        with pytest.raises(CheckpointError, match=r"train\.gate\.predictor.*is not what a run saves"):
            Trainer(path)
