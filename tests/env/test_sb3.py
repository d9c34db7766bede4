"""Somebody else's learner, unchanged, on one of our drills: Stable-Baselines3's PPO learns Approach."""

import numpy as np
import pytest
import torch

from dshq_widget.env.making import make

pytestmark = pytest.mark.peers
STEPS = 16_384  # measured: two in five balls reached after them, one in fifty by chance


def reached(act, episodes: int) -> float:
    """Share of episodes in which the ball was touched."""
    env = make("approach", seed=1, practice=False)
    touched = 0
    for episode in range(episodes):
        observed, _ = env.reset(seed=1000 + episode)
        over = False
        while not over:
            observed, _, terminated, truncated, _ = env.step(act(observed))
            over = terminated or truncated
        touched += terminated
    return touched / episodes


@pytest.fixture
def one_thread():
    """Threads wait for each other longer than networks this small compute."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_ppo_learns_approach(one_thread):
    sb3 = pytest.importorskip("stable_baselines3", reason="the extra `sb3` (stable-baselines3) is not installed")
    from stable_baselines3.common.env_util import make_vec_env

    rng = np.random.default_rng(0)
    chance = reached(lambda _: rng.integers(9), 100)
    games = make_vec_env(lambda: make("approach"), n_envs=8, seed=0)
    learner = sb3.PPO(
        "MlpPolicy", games, n_steps=256, batch_size=256, learning_rate=1e-3, gamma=0.99, seed=0, device="cpu"
    )
    learner.learn(STEPS)
    learned = reached(lambda observed: int(learner.predict(observed, deterministic=False)[0]), 100)
    assert learned > chance + 0.2
