"""Screens of Atari games that torch makes smaller and stacks: what the network reads is what it reads without."""

import dataclasses

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from dshq_widget.algorithms.ppo import gym_games
from dshq_widget.algorithms.ppo.learners.gym_ppo import GymPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.recurrent.gym import RecurrentGymGames, RecurrentGymPPO
from dshq_widget.algorithms.ppo.sights import StackedScreens, shares
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.gyms.environment import Environment
from dshq_widget.gyms.making import described, make
from dshq_widget.policy.action_spaces import GymError
from dshq_widget.policy.network import PolicySpec
from tests.harness.games.gym_play import QUICK, WORLDS

HEIGHT, WIDTH, SIDE = 210, 160, 84


def by_area(screen: np.ndarray) -> np.ndarray:
    """The mean of each of 84 by 84 fields, every pixel split into 84 by 84 equal parts."""
    rows = np.repeat(screen.astype(float), SIDE, 0).reshape(SIDE, -1, screen.shape[1]).mean(1)
    return np.repeat(rows, SIDE, 1).reshape(SIDE, SIDE, -1).mean(2)


class Console(gym.Env):
    """Noise for a screen; games end after 5 to 9 steps, every other one by time."""

    observation_space = spaces.Box(0, 255, (HEIGHT, WIDTH), np.uint8)
    action_space = spaces.Discrete(3)
    games = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.games, self.left = self.games + 1, int(self.np_random.integers(5, 10))
        return self._look(), {"lives": 1}

    def step(self, action):
        self.left -= 1
        over, odd = self.left == 0, self.games % 2 == 1
        return self._look(), 1.0, over and odd, over and not odd, {"lives": 1}

    def _look(self):
        return self.np_random.integers(0, 256, (HEIGHT, WIDTH), np.uint8)


class Small(gym.ObservationWrapper):
    def __init__(self, env):
        super().__init__(env)
        self.observation_space = spaces.Box(0, 255, (SIDE, SIDE), np.uint8)

    def observation(self, observation):
        return np.round(by_area(observation)).astype(np.uint8)


def stacked() -> gym.Env:
    return gym.wrappers.FrameStackObservation(Small(Console()), 4)


def rollouts(monkeypatch, frames: str, count: int, **settings):
    """Of the environment Console, taken for a game of Atari's, with a learner that all options are alike to."""
    made = Console if frames == "device" else stacked
    monkeypatch.setattr(
        gym_games,
        "make_vector",
        lambda environment, config, apart: SyncVectorEnv(
            [made] * config.num_envs, autoreset_mode=AutoresetMode.SAME_STEP
        ),
    )
    plain = described(WORLDS + "Lives-v0").spec
    pictured = dataclasses.replace(plain.environment, pixels=(4, SIDE, SIDE))
    environment = Environment(dataclasses.replace(plain, atari=True, environment=pictured, n_obs=3136))
    config = TrainConfig.from_values({**QUICK, "frames": frames, **settings})
    memory = bool(config.memory)
    spec = PolicySpec.for_config(environment.spec, config)
    learner = (RecurrentGymPPO if memory else GymPPO)(spec, environment.actions, "gaussian", seed=0)
    learner.load(np.zeros_like(learner.blob()))
    games = (RecurrentGymGames if memory else gym_games.GymGames)(environment, config)
    found = [games.next(learner, config, version) for version in range(count)]
    games.close()
    return learner, found


def test_each_small_pixel_is_the_mean_of_what_it_covers():
    screen = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH), np.uint8)
    found = shares(HEIGHT) @ torch.from_numpy(screen).float() @ shares(WIDTH).T
    assert np.allclose(found, by_area(screen), atol=1e-3)


@pytest.mark.parametrize("memory", [0, 8])
def test_games_are_the_same_wherever_their_frames_are_made(monkeypatch, memory):
    """Over beginnings, ends of both kinds, and from one rollout to the next."""
    given = {"rollout_length": 12, "memory": memory}
    _, wanted = rollouts(monkeypatch, "processor", 2, **given)
    learner, found = rollouts(monkeypatch, "device", 2, **given)
    for one, other in zip(wanted, found, strict=True):
        seen, stacked = one.samples.obs, other.samples.obs
        assert isinstance(stacked, torch.Tensor) and stacked.dtype == torch.uint8
        apart = np.abs(seen.astype(int) - stacked.numpy().astype(int))
        assert seen.shape == stacked.shape and apart.max() <= 1 and (apart > 0).mean() < 0.01
        for field in ("action", "log_prob", "returns", "advantage"):
            assert np.array_equal(getattr(one.samples, field), getattr(other.samples, field))
        assert np.array_equal(one.stats, other.stats)
    metrics = learner.update(found[0].samples, found[0].units, Hyper(learning_rate=1e-3, minibatch_size=64))
    assert np.isfinite(metrics["loss_policy"]) and learner.blob().any(), "it learns from them"


def test_what_is_learned_does_not_depend_on_where_the_observations_are(monkeypatch):
    weights = []
    for where in (np.asarray, torch.as_tensor):
        learner, (played,) = rollouts(monkeypatch, "processor", 1)
        played.samples.obs = where(played.samples.obs)
        learner.update(played.samples, played.units, Hyper(learning_rate=1e-3, minibatch_size=64))
        weights.append(learner.blob())
    assert np.array_equal(*weights)


def shade(*values: int) -> np.ndarray:
    return np.stack([np.full((HEIGHT, WIDTH), value, np.uint8) for value in values])


def shades(stacks: torch.Tensor) -> list[list[int]]:
    return stacks[:, :, 0, 0].tolist()


def test_the_last_observation_of_a_game_has_the_frames_before_it():
    screens = StackedScreens((HEIGHT, WIDTH), "cpu")
    assert shades(screens.begin(shade(1, 2))) == [[1] * 4, [2] * 4]
    assert shades(screens.follow(shade(11, 12), np.array([False, False]))) == [[1, 1, 1, 11], [2, 2, 2, 12]]
    assert shades(screens.last(shade(255), np.array([False, True]))) == [[2, 2, 12, 255]]
    assert shades(screens.follow(shade(21, 0), np.array([False, True]))) == [[1, 1, 11, 21], [0] * 4]


def test_wrappers_in_a_name_are_refused_where_they_would_see_whole_screens():
    with pytest.raises(GymError, match="frames=device.*set frames to processor"):
        make("ALE/Pong-v5+TimeLimit(max_episode_steps=3)", screens=True)


@pytest.mark.peers
@pytest.mark.parametrize("gym_id", ["ALE/Pong-v5", "BreakoutNoFrameskip-v4", "ALE/Krull-v5"])
def test_shades_of_an_atari_game_are_opencvs_but_for_rounding(gym_id):
    pytest.importorskip("ale_py", reason="no ale-py here: pip install dshq-widget[atari]")
    pytest.importorskip("cv2", reason="no opencv here: pip install dshq-widget[atari]")
    given, whole = make(gym_id, fire_on_reset=True), make(gym_id, fire_on_reset=True, screens=True)
    (wanted, _), (screen, _) = given.reset(seed=3), whole.reset(seed=3)
    screens = StackedScreens(screen.shape, "cpu")
    apart = [np.abs(wanted.astype(int) - screens.begin(screen[None])[0].numpy())]
    for action in np.random.default_rng(0).integers(0, given.action_space.n, 600):
        wanted, paid, *ends, _ = given.step(action)
        screen, same_paid, *same_ends, _ = whole.step(action)
        assert (paid, ends) == (same_paid, same_ends)
        over = any(ends)
        if over:
            last = screens.last(screen[None], np.array([True]))[0].numpy()
            apart.append(np.abs(wanted.astype(int) - last))
            (wanted, _), (screen, _) = given.reset(), whole.reset()
        apart.append(np.abs(wanted.astype(int) - screens.follow(screen[None], np.array([over]))[0].numpy()))
    given.close(), whole.close()
    assert max(part.max() for part in apart) <= 1
    assert np.mean([(part > 0).mean() for part in apart]) < 0.01


@pytest.mark.peers
def test_an_atari_game_is_learned_from_frames_that_torch_makes():
    pytest.importorskip("ale_py", reason="no ale-py here: pip install dshq-widget[atari]")
    pytest.importorskip("cv2", reason="no opencv here: pip install dshq-widget[atari]")
    environment = described("gym:ALE/Pong-v5")
    given = {"rollout_length": 4, "epochs": 1, "hidden_sizes": (16,), "frames": "device"}
    config = TrainConfig.from_values({**environment.spec.training, **given})
    learner = GymPPO(PolicySpec.for_config(environment.spec, config), environment.actions, "gaussian", seed=0)
    games = gym_games.GymGames(environment, config)
    played = games.next(learner, config, 0)
    games.close()
    before = learner.blob()
    learner.update(played.samples, played.units, Hyper.at(config, 0))
    assert played.samples.obs.shape == (4, 16, 4, SIDE, SIDE) and not np.array_equal(before, learner.blob())
