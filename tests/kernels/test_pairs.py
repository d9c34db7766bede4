"""The layer that judges pairs of items and spaces: its definition written again, on lanes, its gradient, as ONNX."""

from __future__ import annotations

import numpy as np
import pytest

from dshq_kernels.network import mlp
from dshq_kernels.network.layers import Grid, Pairs, is_network, parse, shapes, written
from dshq_kernels.play.rollout import Samples
from dshq_kernels.simd.vector import aligned
from dshq_widget.policy.export_onnx import to_onnx
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy
from tests.harness.networks import rows_over_lanes, slopes_of_both

PAIRS = Pairs(items=3, of_item=2, spaces=5, of_space=3, traits=8, width=16)
LAYERS = (PAIRS.inputs + 2, *written(PAIRS), 12, PAIRS.actions + 1)
LARGE = (100 + 280, *written(Pairs(20, 5, 40, 7, 32, 24)), 40, 24, 801)
EVEN = (24, *written(Pairs(2, 4, 4, 4, 16, 8)), 9)


def weights_of(layers, seed=1):
    """Fresh weights, moved enough that biases matter."""
    rng, spec = np.random.default_rng(seed), PolicySpec(layers)
    return spec.initial(rng) + rng.normal(0, 0.2, spec.floats).astype(np.float32)


def outputs_in_words(weights, obs):
    """Logits and value of one observation, as layers.py describes them, in plain Python."""
    spec = PolicySpec(LAYERS)
    (w_item, b_item), (w_space, b_space), item_part, space_part, (w_sum, b_sum), *dense = spec.split(weights)
    items = [np.maximum(obs[2 * k : 2 * k + 2] @ w_item + b_item, 0) for k in range(3)]
    spaces = [np.maximum(obs[6 + 3 * k : 9 + 3 * k] @ w_space + b_space, 0) for k in range(5)]
    means = [sum(kind) / len(kind) for kind in (items, spaces)]
    (w1, b1), (w2, b2) = dense
    said = np.maximum(np.concatenate([*means, obs[21:]]) @ w1 + b1, 0) @ w2 + b2
    context, value = said[:16], said[16]
    of_items = [item @ item_part[0] + item_part[1] for item in items]
    of_spaces = [space @ space_part[0] + space_part[1] for space in spaces]
    logits = [
        sum(w_sum[h, 0] * max(0.0, item[h] + space[h] + context[h]) for h in range(16)) + b_sum[0]
        for item in of_items
        for space in of_spaces
    ]
    return np.array([*logits, value])


def test_layers_are_read_as_they_are_written():
    assert parse(LAYERS) == (PAIRS, (16 + 2, 12, 17))
    assert shapes(LAYERS) == [(2, 8), (3, 8), (8, 16), (8, 16), (16, 1), (18, 12), (12, 17)]
    assert PolicySpec(LAYERS).n_actions == 15
    for wrong in (
        (PAIRS.inputs - 1, *written(PAIRS), 12, 16),
        (PAIRS.inputs, *written(PAIRS), 12, 17),
        (23, -3, -2, -5, -3, -8, -15, 12, 16),
        (23, -3, -2, -5, -3, -8, 0, 12, 16),
        (23, -3, -2, -5, -3, 12, 16),
        (23, *written(PAIRS)),
    ):
        assert not is_network(wrong)
        with pytest.raises(ValueError, match="pairs|Pairs"):
            parse(wrong)
    with pytest.raises(ValueError, match="no pairs"):
        PolicySpec(LAYERS, separate=True)


def test_a_policy_judges_pairs_as_described():
    rng, weights = np.random.default_rng(2), weights_of(LAYERS)
    obs = rng.standard_normal((6, LAYERS[0])).astype(np.float32)
    logits, values = Policy(LAYERS, "relu", weights).forward(obs)
    found = np.c_[logits, values]
    np.testing.assert_allclose(found, [outputs_in_words(weights, row) for row in obs], rtol=1e-4, atol=1e-5)
    assert found.std(axis=1).min() > 0.01
    again, _ = Policy(LAYERS, "relu", weights).forward(obs.reshape(2, 3, -1))
    np.testing.assert_allclose(again.reshape(6, -1), logits, rtol=1e-5, atol=1e-6)


def test_what_is_learned_of_one_pair_holds_for_all():
    rng, weights = np.random.default_rng(3), weights_of(LAYERS)
    policy, obs = Policy(LAYERS, "tanh", weights), rng.standard_normal(LAYERS[0]).astype(np.float32)
    items, spaces, rest = np.split(obs, [6, 21])
    turned = np.concatenate([items.reshape(3, 2)[[2, 0, 1]].ravel(), spaces.reshape(5, 3)[::-1].ravel(), rest])
    (before, value), (after, other) = policy.forward(obs), policy.forward(turned)
    np.testing.assert_allclose(after.reshape(3, 5), before.reshape(3, 5)[[2, 0, 1], ::-1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(value, other, rtol=1e-5)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("layers", [LAYERS, LARGE, EVEN])
def test_on_lanes_it_is_the_same_function(layers, masked):
    rng, weights = np.random.default_rng(4), weights_of(layers)
    obs = rng.standard_normal((32, layers[0])).astype(np.float32)
    logits, values = Policy(layers, "relu", weights).forward(obs)
    plan = mlp.make_plan(layers)
    assert np.array_equal(mlp.unpack(plan, mlp.pack(plan, weights)), weights)
    allowed = rng.random((2, layers[-1] - 1, 16)) < 0.02 if masked else np.ones((2, layers[-1] - 1, 16), bool)
    masks = aligned(allowed.shape, np.int32)
    masks[:] = allowed
    given = [masks[0].ctypes.data, masks[1].ctypes.data] if masked else [0, 0]
    found = rows_over_lanes(layers, "relu", weights, obs, given)
    matters = np.c_[allowed.transpose(0, 2, 1).reshape(32, -1), np.ones((32, 1), bool)]
    np.testing.assert_allclose(found[matters], np.c_[logits, values][matters], rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("layers", [LAYERS, LARGE, EVEN])
def test_the_gradient_is_torchs(layers, masked):
    """Nine units, so that a part of a chunk is left over."""
    rng, spec = np.random.default_rng(5), PolicySpec(layers, "tanh")
    samples = Samples.new(9, layers[0], -(-spec.n_actions // 32) if masked else 0)
    samples.obs[:] = rng.standard_normal((9, layers[0], 16))
    samples.action[:] = rng.integers(0, spec.n_actions, (9, 16))
    if masked:
        allowed = np.zeros((9, samples.mask.shape[1] * 32, 16), np.uint32)
        allowed[:, : spec.n_actions] = rng.random((9, spec.n_actions, 16)) < 0.02
        np.put_along_axis(allowed, samples.action[:, None].astype(np.int64), 1, axis=1)
        bits = allowed.reshape(9, -1, 32, 16) << np.arange(32, dtype=np.uint32)[:, None]
        samples.mask[:] = bits.sum(axis=2, dtype=np.uint32)
    samples.log_prob[:] = -np.log(spec.n_actions)
    samples.value[:], samples.advantage[:], samples.returns[:] = rng.standard_normal((3, 9, 16))
    slopes = slopes_of_both(spec, samples, weights_of(layers))
    front = sum(n_in * n_out + n_out for n_in, n_out in parse(layers)[0].shapes)
    assert np.abs(slopes[1][:front]).max() > 1e-3
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=2e-3, atol=2e-5)


@pytest.mark.parametrize("layers", [LAYERS, (21, *LAYERS[1:])])
def test_other_runtimes_compute_the_same(layers):
    pytest.importorskip("onnx")
    reference = pytest.importorskip("onnx.reference")
    policy = Policy(layers, "tanh", weights_of(layers))
    obs = np.random.default_rng(6).standard_normal((7, layers[0])).astype(np.float32)
    logits, _, value = reference.ReferenceEvaluator(to_onnx(policy)).run(None, {"observation": obs})
    wanted, values = policy.forward(obs)
    np.testing.assert_allclose(logits, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(value, values, rtol=1e-4, atol=1e-5)


def test_a_grid_still_is_a_grid():
    grid = Grid(rows=3, columns=5, planes=2, maps=3, sweeps=4)
    assert parse((grid.inputs, *written(grid), 5))[0] == grid
