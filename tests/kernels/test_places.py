"""The layer that judges cells by where they lie to places: its definition written again, as ONNX, in the page."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dshq_kernels.network import mlp
from dshq_kernels.network.layers import Places, is_network, parse, shapes, work, written
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy

PLACES = Places(rows=3, columns=4, places=2, of_place=3, traits=4, reaches=3, kinds=2)
LAYERS = (PLACES.inputs + 1, *written(PLACES), 5, PLACES.actions + 1)


def weights_of(layers, seed=1):
    """Fresh weights, moved enough that biases matter."""
    rng, spec = np.random.default_rng(seed), PolicySpec(layers)
    return spec.initial(rng) + rng.normal(0, 0.3, spec.floats).astype(np.float32)


def observations(rng, count=8):
    """Two places each, of which some are none, and one more number."""
    x = rng.random((count, LAYERS[0])).astype(np.float32)
    x[:, 0:6:3] = (rng.integers(0, 12, (count, 2)) / 11).astype(np.float32)
    x[1, 3:6] = 0
    x[2, :6] = 0
    return x


def outputs_in_words(weights, obs):
    """Logits and value of one observation, as places.py describes them, in plain Python."""
    (w_trait, b_trait), (w_pull, b_pull), (w1, b1), (w2, b2) = PolicySpec(LAYERS).split(weights)
    cells, traits, pulls = [], [], []
    for seen in (obs[0:3], obs[3:6]):
        if any(seen[1:]):
            cells.append(round(float(seen[0]) * 11))
            traits.append(np.maximum(seen[1:] @ w_trait + b_trait, 0))
            pulls.append(traits[-1] @ w_pull + b_pull)
    mean = sum(traits) / 2 if traits else np.zeros(4, np.float32)
    said = np.maximum(np.concatenate([mean, obs[6:]]) @ w1 + b1, 0) @ w2 + b2
    logits = []
    for kind in range(2):
        for cell in range(12):
            sum_ = said[kind]
            for place, pull in zip(cells, pulls, strict=True):
                far = math.hypot(place % 4 - cell % 4, place // 4 - cell // 4)
                sum_ += sum(pull[r] * max(0.0, 1 - far / (1 + r)) for r in range(3))
            logits.append(sum_)
    return np.array([*logits, said[2]])


def test_layers_are_read_as_they_are_written():
    assert parse(LAYERS) == (PLACES, (4 + 1, 5, 3))
    assert shapes(LAYERS) == [(2, 4), (4, 3), (5, 5), (5, 3)]
    assert PolicySpec(LAYERS).n_actions == 24 and work(LAYERS) > 0
    for wrong in (
        (PLACES.inputs - 1, *LAYERS[1:]),
        (*LAYERS[:-1], 24),
        (7, -3, -4, -2, -1, -4, -3, -2, 5, 25),
        (7, -1, -1, -2, -3, -4, -3, -2, 5, 3),
    ):
        assert not is_network(wrong)
        with pytest.raises(ValueError, match="places"):
            parse(wrong)


def test_a_policy_judges_cells_as_described():
    rng, weights = np.random.default_rng(2), weights_of(LAYERS)
    obs = observations(rng)
    logits, values = Policy(LAYERS, "relu", weights).forward(obs)
    found = np.c_[logits, values]
    np.testing.assert_allclose(found, [outputs_in_words(weights, row) for row in obs], rtol=1e-4, atol=1e-5)
    assert found.std(axis=1).min() > 0.01
    again, _ = Policy(LAYERS, "relu", weights).forward(obs.reshape(2, 4, -1))
    np.testing.assert_allclose(again.reshape(8, -1), logits, rtol=1e-5, atol=1e-6)


def test_the_order_of_places_does_not_matter():
    policy, obs = Policy(LAYERS, "relu", weights_of(LAYERS)), observations(np.random.default_rng(3))
    turned = np.concatenate([obs[:, 3:6], obs[:, :3], obs[:, 6:]], axis=1)
    for one, other in zip(policy.forward(obs), policy.forward(turned), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_what_is_compiled_for_other_networks_says_so():
    with pytest.raises(ValueError, match="places in front"):
        mlp.make_plan(LAYERS)
