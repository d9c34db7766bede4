"""The layer that looks ahead on a grid: its definition written again, on lanes, its gradient, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dshq_kernels.network import mlp
from dshq_kernels.network.layers import OUTSIDE, Grid, is_network, look_ahead, parse, shapes, written
from dshq_kernels.play.rollout import Samples
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy
from tests.harness.networks import rows_over_lanes, slopes_of_both

GRID = Grid(rows=3, columns=5, planes=2, maps=3, sweeps=4)
LAYERS = (GRID.inputs + 2, *written(GRID), 8, 5)


def observations(rng, count, grid=GRID, n_obs=LAYERS[0]):
    """f32 `[count, n_obs]`: planes of chance, one player each, and some more numbers."""
    obs = rng.random((count, n_obs), np.float32)
    obs[:, grid.planes * grid.cells : grid.inputs] = 0
    obs[np.arange(count), grid.planes * grid.cells + rng.integers(0, grid.cells, count)] = 1
    return obs


def spread(grid, matrix, bias, obs):
    """The features of one observation, as layers.py describes them, in plain Python."""
    planes = obs[: grid.planes * grid.cells].reshape(grid.planes, grid.rows, grid.columns)
    here = divmod(int(obs[grid.planes * grid.cells : grid.inputs].argmax()), grid.columns)
    features = []
    cells = [(row, column) for row in range(grid.rows) for column in range(grid.columns)]
    for m in range(grid.maps):
        cost, value = {}, {}
        for cell in cells:
            given = planes[:, cell[0], cell[1]] @ matrix + bias
            cost[cell], value[cell] = math.log1p(math.exp(given[m])), given[grid.maps + m]
        ways = [(-1, 0), (0, 1), (1, 0), (0, -1)]
        for k in range(grid.sweeps):
            for cell in cells if k % 2 == 0 else cells[::-1]:
                near = [value.get((cell[0] + r, cell[1] + c), -math.inf) for r, c in ways]
                value[cell] = max(value[cell], max(near) - cost[cell])
        for r, c in ways:
            other = here[0] + r, here[1] + c
            features.append(value[other] - value[here] if other in value else OUTSIDE)
    return np.array([*features, *obs[grid.inputs :]])


def test_layers_are_read_as_they_are_written():
    assert parse((28, 64, 31)) == (None, (28, 64, 31))
    assert parse(LAYERS) == (GRID, (GRID.features + 2, 8, 5))
    assert shapes(LAYERS) == [(2, 6), (14, 8), (8, 5)]
    assert PolicySpec(LAYERS).floats == 2 * 6 + 6 + 14 * 8 + 8 + 8 * 5 + 5
    for wrong in ((10, -3, -5, -2, -3, -4, 8, 5), (47, -3, -5, 2, 8, 5), (47, -3, -5), (47, -1, -15, -2, -3, -4, 5)):
        assert not is_network(wrong)
        with pytest.raises(ValueError, match="(?i)grid"):
            parse(wrong)
    with pytest.raises(ValueError, match="no grid"):
        PolicySpec(LAYERS, separate=True)


def test_a_policy_looks_ahead_as_described_in_numpy_and_on_lanes():
    rng = np.random.default_rng(1)
    weights = PolicySpec(LAYERS).initial(rng) + rng.normal(0, 0.3, PolicySpec(LAYERS).floats).astype(np.float32)
    policy, obs = Policy(LAYERS, "relu", weights), observations(rng, 32)
    parts = policy.spec.split(weights)
    features = look_ahead(GRID, *parts[0], obs)
    np.testing.assert_allclose(features, [spread(GRID, *parts[0], row) for row in obs], rtol=1e-5, atol=1e-5)
    assert np.array_equal(look_ahead(GRID, *parts[0], obs.reshape(2, 16, -1)).reshape(32, -1), features)
    logits, values = policy.forward(obs)
    hidden = np.maximum(features @ parts[1][0] + parts[1][1], 0)
    np.testing.assert_allclose(np.c_[logits, values], hidden @ parts[2][0] + parts[2][1], rtol=1e-4, atol=1e-5)

    plan = mlp.make_plan(LAYERS)
    assert np.array_equal(mlp.unpack(plan, mlp.pack(plan, weights)), weights)
    found = rows_over_lanes(LAYERS, "relu", weights, obs)
    np.testing.assert_allclose(found, np.c_[logits, values], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layers", [LAYERS, (GRID.inputs, *written(GRID), 5), (47, *written(GRID), 40, 24, 70)])
def test_the_gradient_is_torchs(layers):
    """Nine units, so that a part of a chunk is left over."""
    rng = np.random.default_rng(2)
    spec = PolicySpec(layers, "tanh")
    samples = Samples.new(9, layers[0])
    samples.obs[:] = observations(rng, 144, GRID, layers[0]).reshape(9, 16, -1).transpose(0, 2, 1)
    samples.action[:] = rng.integers(0, spec.n_actions, (9, 16))
    samples.log_prob[:] = -np.log(spec.n_actions)
    samples.value[:], samples.advantage[:], samples.returns[:] = rng.standard_normal((3, 9, 16))
    weights = spec.initial(rng) + rng.normal(0, 0.1, spec.floats).astype(np.float32)
    slopes = slopes_of_both(spec, samples, weights)
    at = shapes(layers)[0][0] * shapes(layers)[0][1] + shapes(layers)[0][1]
    assert np.abs(slopes[1][:at]).max() > 1e-4
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=2e-3, atol=2e-5)


def test_what_a_grid_cannot_have_is_said():
    spec = PolicySpec(LAYERS, "relu")
    with pytest.raises(ValueError, match="normalize_observations works only with dense networks"):
        Normalizer(spec, observations=True)
