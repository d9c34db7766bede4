"""What a policy reads of observations, wrappers in a name, and masks that are obeyed."""

import numpy as np
import pytest

from dshq_widget.algorithms.ppo.gym_games import processes
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.gyms.environment import EnvironmentSpec
from dshq_widget.gyms.evaluate import evaluate_environment
from dshq_widget.gyms.making import described, make
from dshq_widget.policy.action_spaces import Actions, GymError
from dshq_widget.training.trainer import Trainer
from tests.harness.games.gym_play import PLAIN, QUICK, WORLDS, played, policy_of


def test_a_small_picture_keeps_its_size_and_a_text_is_left_out():
    environment = described(WORLDS + "Tiny-v0")
    spec = environment.spec
    assert spec.pictures_read == ((2, 6, 8),) and spec.training["hidden_sizes"] == (128,)
    assert "does not read 'mission'" in spec.environment.said
    assert EnvironmentSpec.from_json(spec.to_json()).environment == spec.environment
    env = make(spec.environment.id)
    obs, _ = env.reset(seed=0)
    assert obs.dtype == np.uint8 and obs[:, 2, 3].sum() == 255 == obs.sum()


def test_a_small_picture_is_learned_from():
    games, learner, config = played(WORLDS + "Tiny-v0", gamma=0.0, **PLAIN)
    for version in range(25):
        experience = games.next(learner, config, version)
        learner.update(experience.samples, experience.units, Hyper(learning_rate=3e-3, epochs=4, minibatch_size=64))
    games.close()
    policy = policy_of(games, learner)
    assert evaluate_environment(policy, WORLDS + "Tiny-v0", 20)["return_mean"] > 8


@pytest.mark.parametrize("memory", [0, 8])
def test_a_mask_is_obeyed_in_training_and_learned_with(memory):
    games, learner, config = played(WORLDS + "Barred-v0", memory=memory, **PLAIN)
    experience = games.next(learner, config, 0)
    samples, units = experience.samples, experience.units
    assert samples.mask is not None and (samples.mask.sum(-1) == 2).all()
    chosen = samples.action[..., 0].astype(int)
    assert np.take_along_axis(samples.mask, chosen[..., None], 2).all()
    found = learner.update(samples, units, Hyper(learning_rate=0.0, epochs=1, minibatch_size=10_000))
    assert found["approx_kl"] == pytest.approx(0, abs=1e-5), "learned with the chances that it was played with"
    assert found["entropy"] <= np.log(2) + 1e-4
    games.close()


def test_a_mask_is_obeyed_where_steps_are_timed():
    """Before training, to see whether processes of their own would pay; a mask of no use is said as ever."""
    config = TrainConfig.from_values({**QUICK, "workers": -1})
    assert processes(described(WORLDS + "Barred-v0"), config, 4) in (0, config.num_envs)
    assert processes(described("gym:Taxi-v4"), config, 4) in (0, config.num_envs)
    with pytest.raises(GymError, match=r"gave an action_mask of shape \(2,\): wanted \(3,\)"):
        processes(described(WORLDS + "Askew-v0"), config, 4)


def test_a_mask_is_obeyed_where_a_policy_acts():
    games, learner, _ = played(WORLDS + "Barred-v0", **PLAIN)
    games.close()
    policy = policy_of(games, learner)
    assert evaluate_environment(policy, WORLDS + "Barred-v0", 5)["episodes"] == 5
    seen = np.zeros((64, games.environment.spec.n_obs), np.float32)
    only = np.tile([0, 0, 1], (64, 1))
    assert (policy.act(seen, mask=only) == 2).all() and policy.act(seen[0], mask=[1, 0, 0]) == 0
    assert set(policy.act(seen, mask=0 * only).tolist()) == {0, 1, 2}, "a mask that allows nothing allows everything"
    with pytest.raises(ValueError, match="one number for each option"):
        policy.act(seen[0], mask=[1, 0])


def test_a_mask_of_several_choices_leaves_each_an_option():
    actions = Actions("choices", (2, 3), shape=(2,))
    mask = np.array([[0, 0, 1, 0, 0], [1, 0, 0, 0, 0]], bool)
    assert actions.allowing(mask).tolist() == [[True, True, True, False, False], [True, False, True, True, True]]


def test_taxis_own_mask_is_obeyed():
    games, learner, config = played("gym:Taxi-v4", rollout_length=4)
    assert games.mask is not None and not games.mask.all()
    assert games.next(learner, config, 0).samples.mask is not None
    games.close()


def test_wrappers_in_the_name_are_the_environments_own():
    plain, framed = described("gym:CartPole-v1"), described("gym:CartPole-v1+TimeAwareObservation(flatten=True)")
    assert framed.spec.n_obs == plain.spec.n_obs + 1 and framed.rules_hash != plain.rules_hash
    assert framed.spec.environment.wrappers[:2] == ("FlattenObservation", "TimeAwareObservation")
    assert framed.spec.target == 475 and framed.name == "gym:CartPole-v1+TimeAwareObservation(flatten=True)"
    only = described(WORLDS + 'Easy-v0+FilterObservation(filter_keys=["bit"])')
    assert only.spec.n_obs == 2


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "minigrid", None)
    with pytest.raises(GymError, match="gym:MiniGrid-Empty-5x5-v0 needs minigrid: pip install minigrid"):
        described("gym:MiniGrid-Empty-5x5-v0")


@pytest.mark.peers
@pytest.mark.parametrize(
    ("name", "pixels", "left_out"),
    [
        ("gym:MiniGrid-DoorKey-5x5-v0", (21, 7, 7), ("direction", "mission")),
        ("gym:MiniGrid-Empty-5x5-v0+FullyObsWrapper", (21, 5, 5), ("direction", "mission")),
    ],
)
def test_minigrid_is_read_by_its_plain_name(name, pixels, left_out):
    pytest.importorskip("minigrid", reason="needs minigrid (make test-peers)")
    spec = described(name).spec
    assert spec.pictures_read == (pixels,) and spec.environment.left_out == left_out
    env = make(spec.environment.id)
    obs, _ = env.reset(seed=0)
    assert (obs.astype(int).sum(0) == 3 * 255).all(), "an object, a colour and a state in every cell"


@pytest.mark.peers
def test_minatar_is_read_by_its_plain_name():
    pytest.importorskip("minatar", reason="needs minatar (make test-peers)")
    assert described("gym:MinAtar/Breakout-v1").spec.pictures_read == ((4, 10, 10),)


@pytest.mark.peers
def test_an_empty_room_of_minigrid_is_learned():
    pytest.importorskip("minigrid", reason="needs minigrid (make test-peers)")
    with Trainer("gym:MiniGrid-Empty-5x5-v0", seed=1) as trainer:
        trainer.train_for(
            agent_steps=60_000, stop_when=lambda now: now.get("evaluated_return", 0) > 0.8, progress=False
        )
        assert trainer.metrics["evaluated_return"] > 0.8
