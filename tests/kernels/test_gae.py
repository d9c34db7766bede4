"""Advantage estimation against its definition: a discounted sum of one-step errors within one episode."""

import numpy as np
import pytest

from dshq_kernels.play.gae import gae, gae_lanes
from dshq_kernels.simd.vector import aligned

GAMMA, LAMBDA = 0.97, 0.9


def by_definition(rewards, values, last_values, final_values, terminated, truncated):
    """A_t = sum over k of (gamma lambda)^k delta_(t + k), up to the episode's end, in float64, forwards in time."""
    length, count = rewards.shape
    advantages = np.zeros((length, count))
    for n in range(count):
        for t in range(length):
            weight = 1.0
            for k in range(t, length):
                if terminated[k, n]:
                    following = 0.0
                elif truncated[k, n]:
                    following = final_values[k, n]
                else:
                    following = values[k + 1, n] if k + 1 < length else last_values[n]
                advantages[t, n] += weight * (rewards[k, n] + GAMMA * following - values[k, n])
                if terminated[k, n] or truncated[k, n]:
                    break
                weight *= GAMMA * LAMBDA
    return advantages


@pytest.fixture
def case():
    rng = np.random.default_rng(5)
    rewards, values, final_values = rng.standard_normal((3, 40, 16)).astype(np.float32)
    last_values = rng.standard_normal(16).astype(np.float32)
    terminated = rng.random((40, 16)) < 0.08
    truncated = (rng.random((40, 16)) < 0.08) & ~terminated
    terminated[-1, :3], truncated[-1, :3] = True, False
    terminated[-1, 3:6], truncated[-1, 3:6] = False, True
    return rewards, values, last_values, final_values, terminated, truncated


def test_gae_equals_its_definition(case):
    advantages, returns = gae(*case, GAMMA, LAMBDA)
    assert np.allclose(advantages, by_definition(*case), atol=1e-5)
    assert np.allclose(returns, advantages + case[1], atol=1e-6)


def test_after_termination_nothing_follows(case):
    rewards, values, last_values, final_values, terminated, truncated = case
    advantages, _ = gae(
        rewards, values, last_values + 100, final_values + 100 * terminated, terminated, truncated, GAMMA, LAMBDA
    )
    before, _ = gae(*case, GAMMA, LAMBDA)
    assert np.array_equal(advantages[-1, :3], before[-1, :3])
    assert np.allclose(advantages[-1, :3], rewards[-1, :3] - values[-1, :3])


def test_truncation_bootstraps_from_the_final_observation(case):
    rewards, values, last_values, final_values, terminated, truncated = case
    advantages, _ = gae(rewards, values, last_values + 100, final_values, terminated, truncated, GAMMA, LAMBDA)
    expected = rewards[-1, 3:6] + np.float32(GAMMA) * final_values[-1, 3:6] - values[-1, 3:6]
    assert np.allclose(advantages[-1, 3:6], expected, atol=1e-6)


def test_lanes_equal_arrays(case):
    rewards, values, last_values, final_values, terminated, truncated = case
    over = (terminated | truncated).astype(np.float32)
    final = np.where(truncated, final_values, 0).astype(np.float32)
    stored = aligned((40, 2, 16))  # samples of another side lie between
    stored[:, 0] = values
    advantages, returns = aligned((40, 2, 16)), aligned((40, 2, 16))
    rewards, last_values = np.ascontiguousarray(rewards), np.ascontiguousarray(last_values)
    given = [array.ctypes.data for array in (rewards, over, final)]
    places = [array.ctypes.data for array in (stored, advantages, returns)]
    gae_lanes(40, *given, 64, *places, 128, last_values.ctypes.data, GAMMA, LAMBDA)
    expected, expected_returns = gae(*case, GAMMA, LAMBDA)
    assert np.allclose(advantages[:, 0], expected, atol=1e-5)
    assert np.allclose(returns[:, 0], expected_returns, atol=1e-5)
    assert not advantages[:, 1].any()
