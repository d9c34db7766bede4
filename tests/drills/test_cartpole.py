"""CartPole against Gymnasium's own: the same next state, reward and end from the same state and action."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills import get

FIELDS = ("x", "vx", "angle", "swing")
FLOAT32 = 1e-6
"""Largest relative error of one step: rounding of a few float32 operations, and the rules' own sine."""


@pytest.fixture(scope="module")
def drill():
    return compile_drill(get("cartpole"))


@pytest.fixture(scope="module")
def game(drill):
    return drill.game()


@pytest.fixture(scope="module")
def reference():
    return gym.make("CartPole-v1").unwrapped


def states(tiles):
    """f64 (n_tiles, 16, 4) in Gymnasium's order."""
    return np.stack([tiles[name] for name in FIELDS], axis=-1).astype(np.float64)


def test_every_step_is_gymnasiums(game, reference):
    """16 games of 400 random steps: each step from our state, in float32, and from the same numbers in float64."""
    rng = np.random.default_rng(0)
    tiles = game.new(1, seed=1)
    ends = 0
    for _ in range(400):
        before, actions = states(tiles)[0], rng.integers(0, 2, 16)
        tiles["action"] = actions
        game.decide(tiles)
        game.tick(tiles)
        after, over = states(tiles)[0], game.status(tiles)[0][0]
        paid = game.terms(tiles)[0, 0, 0]
        for lane in range(16):
            reference.reset()
            reference.state = tuple(before[lane])
            _, reward, terminated, _, _ = reference.step(int(actions[lane]))
            np.testing.assert_allclose(after[lane], reference.state, rtol=FLOAT32, atol=FLOAT32)
            margin = min(abs(2.4 - abs(after[lane, 0])), abs(np.deg2rad(12) - abs(after[lane, 2])))
            assert over[lane] == terminated or margin < FLOAT32
            assert paid[lane] == reward == 1.0
        ends += over.sum()
        game.reset(tiles, over[None])
    assert ends > 100


def test_whole_episodes_are_gymnasiums(game, reference):
    """From the same start and with the same actions, 64 episodes end at the same step; float32 stays close."""
    rng = np.random.default_rng(2)
    tiles = game.new(4, seed=3)
    starts, length = states(tiles).reshape(64, 4), np.zeros(64, int)
    assert abs(starts).max() <= 0.05
    assert starts.std() == pytest.approx(0.05 / np.sqrt(3), rel=0.1)
    actions, path = rng.integers(0, 2, (500, 64)), []
    for step in range(500):
        tiles["action"] = actions[step].reshape(4, 1, 16)
        game.decide(tiles)
        game.tick(tiles)
        path.append(states(tiles).reshape(64, 4))
        over = game.status(tiles)[0].reshape(64)
        length[(length == 0) & over] = step + 1
    for k in range(64):
        reference.reset()
        reference.state = tuple(starts[k])
        for step in range(500):
            _, _, terminated, _, _ = reference.step(int(actions[step, k]))
            np.testing.assert_allclose(path[step][k], reference.state, rtol=1e-4, atol=1e-5)
            if terminated:
                break
        assert length[k] == step + 1


def test_the_balancer_stands_for_all_500_steps(drill, game):
    """The time limit truncates: nobody has fallen, and the episode counts as won."""
    assert drill.spec.time_limit == 500
    assert drill.spec.tick_rate == 50
    tiles = game.new(4, seed=5)
    for _ in range(500):
        tiles["action"] = game.actions(tiles, "balancer")
        game.decide(tiles)
        game.tick(tiles)
    terminated, winner = game.status(tiles)[0], game.status(tiles)[1]
    assert not terminated.any()
    assert (winner == 1).all()
    assert (tiles["ticks"] == 500).all()
