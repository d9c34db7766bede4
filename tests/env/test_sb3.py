"""Other people's learners and wrappers, unchanged: Stable-Baselines3, sb3-contrib, Gymnasium's RecordVideo."""

import gymnasium as gym
import numpy as np
import pytest

from dshq_widget.env.making import make, make_vec
from dshq_widget.env.registration import register_environments

pytestmark = pytest.mark.peers
register_environments()
STEPS = 16_384  # measured: two in five balls reached after them, one in fifty by chance


def reached(act, episodes: int) -> float:
    """Share of episodes in which the ball was touched."""
    env = make("approach", seed=1)
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
def games():
    """The adapter's class."""
    pytest.importorskip("stable_baselines3", reason="the extra `sb3` (stable-baselines3) is not installed")
    from dshq_widget.env.stable_baselines import SB3VecEnv

    return SB3VecEnv


@pytest.mark.parametrize("adapter", [False, True], ids=["one by one", "one batch"])
def test_ppo_learns_approach(games, adapter):
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecMonitor

    rng, how = np.random.default_rng(0), {"batch_size": 256, "learning_rate": 1e-3, "gamma": 0.99, "seed": 0}
    chance = reached(lambda _: rng.integers(9), 100)
    if adapter:
        env, steps = VecMonitor(games("approach", 64, practice=True, shaping=True)), 2 * STEPS
    else:
        env, steps = make_vec_env(lambda: make("approach", practice=True, shaping=True), n_envs=8, seed=0), STEPS
    learner = PPO("MlpPolicy", env, n_steps=32 if adapter else 256, device="cpu", **how)
    learner.learn(steps)
    assert len(learner.ep_info_buffer) > 0, "episodes were seen to end"
    assert reached(lambda observed: int(learner.predict(observed, deterministic=False)[0]), 100) > chance + 0.2


@pytest.mark.parametrize("drill", ["ball", "sumo", "cartpole"])
def test_ppo_runs_on_three_drills(games, drill):
    from stable_baselines3 import PPO

    for opponent in (None, "self") if drill != "cartpole" else (None,):
        env = games(drill, 8, opponent=opponent)
        learner = PPO("MlpPolicy", env, n_steps=64, batch_size=64, n_epochs=1, seed=0, device="cpu")
        learner.learn(2 * 64 * env.num_envs)
        assert learner.num_timesteps >= 2 * 64 * env.num_envs


@pytest.mark.parametrize("drill", ["snake", "maze", "binpack"])
def test_maskable_ppo_never_takes_what_is_forbidden(games, monkeypatch, drill):
    contrib = pytest.importorskip("sb3_contrib", reason="the extra `sb3` (sb3-contrib) is not installed")
    env, taken = games(drill, 8), []
    step = env.step_async

    def watched(actions):
        taken.append(env.action_masks()[np.arange(8), actions].all())
        step(actions)

    monkeypatch.setattr(env, "step_async", watched)
    learner = contrib.MaskablePPO("MlpPolicy", env, n_steps=32, batch_size=64, n_epochs=1, seed=0, device="cpu")
    learner.learn(2 * 32 * 8)
    assert len(taken) >= 64 and all(taken)
    alone = gym.make(f"dshq/{ {'snake': 'Snake', 'maze': 'Maze', 'binpack': 'BinPack'}[drill] }-v0")
    contrib.MaskablePPO("MlpPolicy", alone, n_steps=32, batch_size=32, n_epochs=1, seed=0, device="cpu").learn(32)


def test_the_adapter_keeps_stable_baselines_rules(games):
    """Seeds, the last observation of an episode and truncation arrive where Stable-Baselines3 looks for them."""
    env, other = games("ball", 16), make_vec("ball", 16, autoreset="same_step")
    env.seed(3)
    assert np.array_equal(env.reset(), other.reset(seed=3)[0])
    ends = 0
    for k in range(320):
        actions = np.random.default_rng(k).integers(0, 30, 16)
        observed, reward, done, infos = env.step(actions)
        seen, paid, terminated, truncated, said = other.step(actions)
        assert np.array_equal(observed, seen) and np.array_equal(reward, paid)
        for row in np.flatnonzero(done):
            assert np.array_equal(infos[row]["terminal_observation"], said["final_obs"][row])
            assert infos[row]["TimeLimit.truncated"] == truncated[row] == False, "players see the clock"  # noqa: E712
            ends += 1
    assert ends >= 16 and env.has_attr("action_masks") and not env.has_attr("nothing")
    with pytest.raises(AttributeError, match="the games are one batch"):
        env.env_method("reset")
    films = games("ball", 4, render_mode="rgb_array", render_width=160)
    films.reset()
    assert films.render().dtype == np.uint8


@pytest.mark.parametrize("drill", ["Ball", "Snake", "CartPole"])
def test_record_video_films_a_drill(tmp_path, drill):
    pytest.importorskip("moviepy", reason="Gymnasium's RecordVideo needs moviepy")
    env = gym.wrappers.RecordVideo(gym.make(f"dshq/{drill}-v0", render_mode="rgb_array"), str(tmp_path))
    env.reset(seed=0)
    for _ in range(20):
        env.step(env.action_space.sample())
    env.close()
    films = list(tmp_path.glob("*.mp4"))
    assert len(films) == 1 and films[0].stat().st_size > 1000
