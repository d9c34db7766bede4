"""How environments are made and what they start from: the settings of Atari games, repeated actions, recipes."""

import dataclasses
import os
import types

import numpy as np
import pytest

from dshq_kernels.play.loops import STATS
from dshq_widget.algorithms.ppo import ALGORITHM as PPO
from dshq_widget.algorithms.ppo import processes
from dshq_widget.algorithms.ppo.gym_games import GymGames
from dshq_widget.algorithms.ppo.learners.gym_ppo import GymPPO
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.gyms.environment import Environment
from dshq_widget.gyms.evaluate import evaluate_environment
from dshq_widget.gyms.making import described, make
from dshq_widget.gyms.recipes import suggested
from dshq_widget.gyms.show import Show
from dshq_widget.gyms.wrappers import FireOnReset, waits_for_fire
from dshq_widget.policy.loading import load_policy
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime import supervisor
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.runtime.variables import named_libraries
from dshq_widget.training.shown_settings import shown_settings
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget import kernel_show
from tests.harness.games.gym_play import QUICK, WORLDS
from tests.harness.games.gym_worlds import Lives


def atari_like(**settings) -> tuple[GymGames, GymPPO, TrainConfig]:
    """The environment Lives, taken for a game of Atari's."""
    plain = described(WORLDS + "Lives-v0")
    environment = Environment(dataclasses.replace(plain.spec, atari=True))
    config = TrainConfig.from_values({**QUICK, "gamma": 1.0, "gae_lambda": 1.0, **settings})
    learner = GymPPO(PolicySpec.for_config(environment.spec, config), environment.actions, "gaussian", seed=0)
    return GymGames(environment, config), learner, config


@pytest.mark.parametrize("ends", [True, False])
def test_a_lost_life_ends_an_episode_for_the_learner_alone(ends):
    games, learner, config = atari_like(life_ends_episode=ends, rollout_length=64)
    learner.load(np.zeros_like(learner.blob()))
    played = games.next(learner, config, 0)
    games.close()
    lives = played.samples.obs[:, 0]
    assert lives.max() == 3 and lives.min() == 1, "the game continues after a lost life"
    lost = (lives[:-1] > lives[1:]) & (lives[1:] > 0)
    assert lost.any()
    assert (played.samples.returns[:-1][lost] == 1).all() == ends, "one step is left, and its sign pays 1"
    stats = dict(zip(STATS, played.stats, strict=True))
    assert stats["episodes"] > 0 and stats["return_sum"] == 2 * stats["decisions"], "returns are of whole games"


def test_fire_is_pressed_where_a_game_begins_and_after_a_lost_life():
    env = FireOnReset(Lives())
    assert waits_for_fire(env) and not waits_for_fire(make("CartPole-v1"))
    obs, info = env.reset(seed=0)
    assert (obs.tolist(), info["lives"]) == ([3, 1], 3)
    seen = [env.step(0) for _ in range(6)]
    assert [obs.tolist() for obs, *_ in seen] == [[3, 2], [2, 1], [2, 2], [1, 1], [1, 2], [0, 0]]
    assert [reward for _, reward, *_ in seen] == [2, 4, 2, 4, 2, 2], "what pressing it pays is added"
    assert [terminated for *_, terminated, _, _ in seen] == [False] * 5 + [True]


@pytest.mark.slow
def test_an_action_is_repeated_in_training_evaluation_and_the_show(tmp_path):
    env = make("CartPole-v1", action_repeat=4)
    once = make("CartPole-v1")
    env.reset(seed=3)
    once.reset(seed=3)
    obs, paid, *_ = env.step(1)
    assert paid == 4 and np.array_equal(obs, [once.step(1) for _ in range(4)][-1][0])
    with Trainer(WORLDS + "Easy-v0", **QUICK, action_repeat=5) as trainer:
        trainer.train_for(updates=1, progress=False)
        assert trainer.metrics["episode_length_mean"] == 2, "of ten steps"
        file, newest = trainer.save(tmp_path / "bot.dshq"), trainer.latest_policy()
        job = {"environment": trainer.drill.spec.environment.to_json(), "fps": 1, "seed": 0}
        job |= kernel_show._fixed(newest, trainer.config)
    assert load_policy(file).environment["made"] == {"action_repeat": 5, "fire_on_reset": True}
    assert evaluate_environment(load_policy(file), WORLDS + "Easy-v0", 3)["episode_length_mean"] == 2
    block = SharedBlock.create(WeightSlots.nbytes_for(len(newest.weights)))
    slots = WeightSlots.create(block, len(newest.weights))
    slots.publish(1, newest.version, np.array(newest.weights))
    show = Show(None, job, slots)
    show.step()
    assert not show.over
    show.step()
    assert show.over
    block.close()


def test_settings_of_atari_games_are_shown_with_them_alone():
    plain = described("gym:CartPole-v1").spec
    of_atari = {"fire_on_reset", "life_ends_episode", "frames"}
    assert not of_atari & set(shown_settings(plain, PPO)["schema"])
    assert of_atari <= set(shown_settings(dataclasses.replace(plain, atari=True), PPO)["schema"])
    assert "action_repeat" not in shown_settings(Trainer("cartpole").drill.spec, PPO)["schema"]


@pytest.mark.parametrize(
    "gym_id, pictures, wanted",
    [
        ("Hopper-v5", (), {"action_deviation": "free", "minibatch_size": 64}),
        ("HalfCheetah-v4", (), {"separate_value_net": True, "reward_clip": 10.0}),
        ("mine:Hopper-v0", (), {"minibatch_size": 256}),
        ("Pendulum-v1", (), {"gamma": 0.9}),
        ("MountainCarContinuous-v0", (), {"action_repeat": 8}),
        ("ALE/Pong-v5", ((4, 84, 84),), {"hidden_sizes": (512,)}),
        ("MinAtar/Breakout-v1", ((4, 10, 10),), {"hidden_sizes": (128,), "entropy_coef": 0.01}),
    ],
)
def test_an_environment_has_the_settings_of_its_family(gym_id, pictures, wanted):
    found = suggested(gym_id, pictures)
    assert {key: found[key] for key in wanted} == wanted
    TrainConfig.from_values(found)


@pytest.mark.parametrize(("pictures", "threads"), [((), 1), (((4, 10, 10),), 1), (((4, 84, 84),), 2)])
def test_a_small_network_learns_with_one_thread(monkeypatch, pictures, threads):
    """More of them wait for one another at every layer, beside other work nearly all of the time."""
    plain = described("gym:CartPole-v1").spec
    game = Environment(
        dataclasses.replace(plain, environment=dataclasses.replace(plain.environment, pictures=pictures))
    )
    monkeypatch.setattr(processes.Machine, "this", lambda gentle: types.SimpleNamespace(size=2))
    monkeypatch.setattr(processes, "OneProcess", lambda *given, **named: given[-1])
    config = TrainConfig.from_values({"device": "cpu"})
    assert processes.start_processes(game, config, None, {}, print, print) == threads


def test_threads_that_wait_sleep_unless_the_user_says_otherwise(monkeypatch):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    assert supervisor._environment(2)["OMP_WAIT_POLICY"] == "passive"
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    assert supervisor._environment(2)["OMP_WAIT_POLICY"] == "active"


@pytest.mark.peers
def test_a_ball_is_served_where_a_life_begins():
    pytest.importorskip("ale_py", reason="no ale-py here: pip install dshq-widget[atari]")
    pytest.importorskip("cv2", reason="no opencv here: pip install dshq-widget[atari]")

    def lives_after(steps: int, **how) -> int:
        env = make("BreakoutNoFrameskip-v4", **how)
        env.reset(seed=0)
        infos = [env.step(0)[4] for _ in range(steps)]
        env.close()
        return infos[-1]["lives"]

    assert lives_after(150) == 5, "nobody serves"
    assert lives_after(150, fire_on_reset=True) < 4, "every ball is served, and missed"
    spec = described("gym:BreakoutNoFrameskip-v4").spec
    assert (spec.atari, spec.pictures_read, spec.tick_rate) == (True, ((4, 84, 84),), 15)


@pytest.mark.peers
def test_a_game_has_the_wrappers_of_its_name():
    pytest.importorskip("ale_py", reason="no ale-py here: pip install dshq-widget[atari]")
    pytest.importorskip("cv2", reason="no opencv here: pip install dshq-widget[atari]")
    env = make("ALE/Breakout-v5+TimeLimit(max_episode_steps=3)")
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True], "three decisions"
    env.close()


@pytest.mark.peers
def test_lives_are_counted_in_many_games_at_once():
    pytest.importorskip("ale_py", reason="no ale-py here: pip install dshq-widget[atari]")
    pytest.importorskip("cv2", reason="no opencv here: pip install dshq-widget[atari]")
    environment = described("gym:BreakoutNoFrameskip-v4")
    config = TrainConfig.from_values({**environment.spec.training, "rollout_length": 48, "hidden_sizes": (16,)})
    learner = GymPPO(PolicySpec.for_config(environment.spec, config), environment.actions, "gaussian", seed=0)
    games = GymGames(environment, config)
    assert (games.lives == 5).all()
    games.next(learner, config, 0)
    games.close()
    assert (games.lives < 5).any() and (games.lives > 0).all()


@pytest.mark.peers
def test_hopper_learns_to_stand_in_a_minute():
    """Random play earns about 20."""
    pytest.importorskip("mujoco", reason="no mujoco here: pip install dshq-widget[mujoco]", exc_type=ImportError)
    with Trainer("gym:Hopper-v5", seed=1) as trainer:
        assert trainer.config.action_deviation == "free" and trainer.config.separate_value_net
        trainer.train_for(agent_steps=60_000, progress=False)
        assert trainer.error == "" and trainer.metrics["evaluated_return"] > 120


def test_no_process_looks_for_libraries_in_the_working_folder(monkeypatch):
    """OpenCV leaves such a place in LD_LIBRARY_PATH, and environments import it: a `libz.so.1` beside a policy ran."""
    monkeypatch.setenv("LD_LIBRARY_PATH", "/theirs:")
    make("CartPole-v1")
    assert os.environ["LD_LIBRARY_PATH"] == "/theirs", "for what multiprocessing and others start"
    monkeypatch.setenv("LD_LIBRARY_PATH", "/theirs;:/ours:")
    own = {"LD_LIBRARY_PATH": "/theirs:/ours"}
    assert supervisor._environment(1).items() >= own.items(), "where somebody else has imported it"
    assert named_libraries({"HOME": "/"}) == {"HOME": "/"}
