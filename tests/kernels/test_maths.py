"""The rules' own sin, cos, atan2, exp against float64, and the counter-based generator's quality."""

import numpy as np
import pytest

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drill.declaration import Choice, Drill, Observation, rule

# ruff: noqa: F821


class Maths(Drill):
    name = "maths"
    state = dict.fromkeys(("x", "y", "sin", "cos", "atan2", "exp", "drawn"), "f32")
    state |= {"die": "i32", "bits": "u32", "np_sign": "f32"}
    actions = (Choice("a", ("b",)),)
    observations = (Observation("x"),)

    @rule
    def reset(s, i):
        s.x[i] = 0.0

    @rule
    def tick(s, i):
        s.sin[i], s.cos[i] = sin_cos(s.x[i])
        s.atan2[i] = atan2(s.y[i], s.x[i])
        s.exp[i] = exp(s.x[i])
        s.bits[i] = random_bits(s, i)
        s.drawn[i] = random(s, i)
        s.die[i] = random_int(s, i, 6)
        s.np_sign[i] = np.sign(s.x[i])

    @rule
    def observe(s, i, side, o):
        o[0, i] = s.x[i]


@pytest.fixture(scope="module")
def game():
    return compile_drill(Maths).game()


def evaluate(game, x, y=None):
    tiles = game.new(len(x) // 16)
    tiles["x"] = x.reshape(-1, 16)
    tiles["y"] = 0 if y is None else y.reshape(-1, 16)
    game.tick(tiles)
    return tiles


def test_numpys_sign_is_numpys(game):
    x = np.array([-2.5, -0.0, 0.0, 1e-30] * 4, np.float32)
    assert np.array_equal(evaluate(game, x)["np_sign"][0], np.sign(x))


def test_sin_cos(game):
    x = np.random.default_rng(0).uniform(-100, 100, 160_000).astype(np.float32)
    tiles = evaluate(game, x)
    assert abs(tiles["sin"].ravel() - np.sin(x.astype(np.float64))).max() < 2e-7
    assert abs(tiles["cos"].ravel() - np.cos(x.astype(np.float64))).max() < 2e-7


def test_atan2(game):
    x, y = np.random.default_rng(1).normal(size=(2, 160_000)).astype(np.float32)
    x[:16], y[:16] = np.repeat([0, 1, -1, 0], 4), np.tile([0, 1, -1, 0.5], 4)
    result = evaluate(game, x, y)["atan2"].ravel()
    assert abs(result - np.arctan2(y.astype(np.float64), x.astype(np.float64))).max() < 4e-7


def test_exp(game):
    x = np.random.default_rng(2).uniform(-86, 88, 160_000).astype(np.float32)
    result = evaluate(game, x)["exp"].ravel()
    assert abs(result / np.exp(x.astype(np.float64)) - 1).max() < 4e-7


def draws(game, n, seed):
    tiles = game.new(1, seed)
    rows = []
    for _ in range(n):
        game.tick(tiles)
        rows.append(
            np.stack(
                [tiles["drawn"][0], tiles["die"][0].astype(np.float32), tiles["bits"][0].astype(np.float64) / 2**32]
            )
        )
    return np.stack(rows)


def test_draws_are_uniform_and_independent_across_neighbouring_seeds(game):
    rows = draws(game, 6000, 1)
    drawn = rows[:, 0]
    assert drawn.min() >= 0 and drawn.max() < 1
    counts = np.histogram(drawn, 100, (0, 1))[0]
    expected = drawn.size / 100
    assert (
        (counts - expected) ** 2 / expected
    ).sum() < 170  # chi-squared, 99 degrees of freedom: 170 is about p = 1e-5
    correlation = np.corrcoef(drawn.T) - np.eye(16)
    assert abs(correlation).max() < 0.06
    serial = [np.corrcoef(drawn[:-lag, k], drawn[lag:, k])[0, 1] for lag in (1, 2, 3) for k in range(16)]
    assert abs(np.array(serial)).max() < 0.06
    dice = np.bincount(rows[:, 1].astype(int).ravel(), minlength=6)
    assert len(dice) == 6 and abs(dice / dice.sum() - 1 / 6).max() < 0.006


def test_each_bit_is_fair(game):
    tiles = game.new(64, 123)
    ones = np.zeros(32)
    rounds = 100
    for _ in range(rounds):
        game.tick(tiles)
        ones += (tiles["bits"].reshape(-1, 1) >> np.arange(32, dtype=np.uint32) & 1).sum(0)
    n = 64 * 16 * rounds
    assert abs(ones / n - 0.5).max() < 5 * 0.5 / np.sqrt(n)


def test_no_two_keys_share_a_sequence_shifted(game):
    tiles = game.new(64, 0)
    seen = []
    for _ in range(50):
        game.tick(tiles)
        seen.append(tiles["bits"].ravel().copy())
    values = np.concatenate(seen)
    repeats = len(values) - len(np.unique(values))
    assert repeats < 10  # birthday: 51,200 draws of 2^32 collide 0.3 times on average
