"""The network's kernels against numpy in float64, finite differences, and Adam's textbook formula."""

import numpy as np
import pytest
from numba import njit

from dshq_kernels.network import mlp
from dshq_kernels.network.gradient import learn_scratch
from dshq_kernels.network.ppo_loss import SUMS
from dshq_kernels.network.update import adam_step, learn
from dshq_kernels.play.rollout import Samples
from dshq_kernels.simd.elementary import exp, log
from dshq_kernels.simd.vector import aligned, load, store
from dshq_widget.policy.network import PolicySpec
from tests.harness.networks import over_lanes

SHAPES = [(28, 64, 64, 31), (4, 8, 3), (5, 24, 40, 16, 7), (33, 128, 2), (3, 4)]


def weights_of(layers, seed=0):
    rng = np.random.default_rng(seed)
    spec = PolicySpec(layers)
    weights = spec.initial(rng)
    for matrix, bias in spec.split(weights):
        matrix += rng.standard_normal(matrix.shape) * 0.3
        bias += rng.standard_normal(bias.shape) * 0.3
    return weights


def forward(layers, activation, weights, x):
    """Outputs f64 `[n, n_out]`, with numpy's own tanh."""
    parts = PolicySpec(layers, activation).split(weights)
    for k, (matrix, bias) in enumerate(parts):
        x = x @ matrix + bias
        if k < len(parts) - 1:
            x = np.tanh(x) if activation == "tanh" else np.maximum(x, 0)
    return x


def some_observations(n_obs):
    obs = aligned((2, n_obs, 16))
    obs[:] = np.random.default_rng(1).standard_normal(obs.shape) * 2
    return obs


@pytest.mark.parametrize("layers", SHAPES)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_forward_over_lanes(layers, activation):
    plan, weights, obs = mlp.make_plan(layers), weights_of(layers), some_observations(layers[0])
    found = over_lanes(plan, activation, weights, obs)
    expected = forward(layers, activation, weights.astype(np.float64), obs.transpose(0, 2, 1).astype(np.float64))
    assert np.allclose(found, expected.transpose(2, 0, 1), atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("layers", "halves"),
    [((28, 128, 128, 31), [1, 2, 1]), ((5, 64, 192, 128, 7), [1, 2, 2, 1]), ((5, 64, 96, 7), [1, 1, 1])],
)
def test_two_networks_side_by_side_are_calculated_apart(layers, halves):
    """What lies between them is left out where it is whole blocks, and is zero: the result is the same to the bit."""
    spec, obs = PolicySpec(layers, separate=True), some_observations(layers[0])
    weights = weights_of(layers) * spec.mask()
    plan = mlp.make_plan(layers, separate=True)
    assert plan[:, mlp.HALVES].tolist() == halves
    both = over_lanes(plan, "tanh", weights, obs)
    assert np.array_equal(both, over_lanes(mlp.make_plan(layers), "tanh", weights, obs))


def test_pack_and_unpack_are_inverse():
    for layers in SHAPES:
        plan, weights = mlp.make_plan(layers), weights_of(layers)
        assert np.array_equal(mlp.unpack(plan, mlp.pack(plan, weights)), weights)
        with pytest.raises(ValueError, match="a different shape"):
            mlp.pack(plan, weights[:-1])


@njit
def elementary(source, target, which):
    for at in range(0, source.size * 4, 64):
        x = load(source.ctypes.data + at)
        y = exp(x) if which == 0 else log(x)
        store(target.ctypes.data + at, y)


def test_exp_and_log():
    x = np.linspace(-80, 80, 1 << 16).astype(np.float32)
    y = np.empty_like(x)
    elementary(x, y, 0)
    true = np.exp(x.astype(np.float64))
    assert np.abs(y / true - 1).max() < 4e-7
    x = np.exp(np.linspace(-80, 80, 1 << 16)).astype(np.float32)
    elementary(x, y, 1)
    true = np.log(x.astype(np.float64))
    assert (np.abs(y - true) / np.maximum(1, np.abs(true))).max() < 4e-7


def test_tanh_within_its_stated_error():
    plan = mlp.make_plan((1, 1, 1))
    weights = np.array([1, 0, 1, 0], np.float32)
    worst = 0.0
    for x in np.linspace(-12, 12, 32 * 500).astype(np.float32).reshape(-1, 2, 1, 16):
        found = over_lanes(plan, "tanh", weights, np.ascontiguousarray(x))
        worst = max(worst, np.abs(found - np.tanh(x.astype(np.float64)).transpose(1, 0, 2)).max())
    assert worst < 5e-7


def make_samples(layers, units, masked=False, seed=2):
    rng = np.random.default_rng(seed)
    samples = Samples.new(units, layers[0], -(-(layers[-1] - 1) // 32) if masked else 0)
    samples.obs[:] = rng.standard_normal(samples.obs.shape)
    samples.action[:] = rng.integers(0, layers[-1] - 1, samples.action.shape)
    samples.log_prob[:] = -np.log(layers[-1] - 1) + rng.standard_normal(samples.action.shape) * 0.3
    samples.value[:], samples.advantage[:], samples.returns[:] = rng.standard_normal((3, *samples.action.shape))
    if masked:
        samples.mask[:] = rng.integers(0, 1 << 32, samples.mask.shape, np.uint32)
        for unit, lane in np.ndindex(samples.action.shape):  # what was done was allowed
            samples.mask[unit, samples.action[unit, lane] // 32, lane] |= np.uint32(
                1 << samples.action[unit, lane] % 32
            )
    return samples


def allowed(samples, n_actions):
    """bool `[samples, n_actions]`."""
    if samples.mask.shape[1] == 0:
        return np.ones((samples.action.size, n_actions), bool)
    bits = samples.mask[:, np.arange(n_actions) // 32] >> (np.arange(n_actions, dtype=np.uint32) % 32)[:, None] & 1
    return bits.transpose(0, 2, 1).reshape(-1, n_actions) != 0


def loss(layers, activation, weights, samples, mean, scale, clip, clip_value, value_coef, entropy_coef):
    """PPO's loss in float64, written down anew."""
    x = samples.obs.transpose(0, 2, 1).reshape(-1, layers[0]).astype(np.float64)
    out = forward(layers, activation, weights, x)
    logits, value = np.where(allowed(samples, layers[-1] - 1), out[:, :-1], -np.inf), out[:, -1]
    log_p = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    ratio = np.exp(log_p[np.arange(len(x)), samples.action.ravel()] - samples.log_prob.ravel())
    gain = (samples.advantage.ravel() - mean) * scale
    policy = -np.minimum(ratio * gain, np.clip(ratio, 1 - clip, 1 + clip) * gain).mean()
    square = (value - samples.returns.ravel()) ** 2
    if clip_value:
        old = samples.value.ravel()
        square = np.maximum(square, (old + np.clip(value - old, -clip, clip) - samples.returns.ravel()) ** 2)
    entropy = -(np.exp(log_p) * np.where(np.isfinite(log_p), log_p, 0)).sum(1).mean()
    return policy + value_coef * square.mean() - entropy_coef * entropy


def gradient(layers, activation, weights, samples, mean, scale, clip, clip_value, value_coef, entropy_coef):
    plan = mlp.make_plan(layers)
    n, units = mlp.plan_floats(plan), np.arange(len(samples.action))
    state, slopes = aligned((1, 3, n)), aligned((2, 1, n + 16))
    state[0, 0] = mlp.pack(plan, weights.astype(np.float32))
    metrics = np.zeros((1, SUMS + 4))
    f = np.float32
    learn(
        0,
        1,
        aligned(8, np.int64).ctypes.data,
        plan,
        mlp.ACTIVATIONS[activation],
        state,
        slopes,
        aligned((1, learn_scratch(plan))),
        (*samples.addresses, 1),
        units,
        np.ones(len(units), np.float32),
        np.array([0, len(units)]),
        np.zeros((0, 2), np.float32),
        (f(mean), f(scale), f(1)),
        np.zeros(0, np.float32),
        (f(clip), clip_value, f(value_coef), f(entropy_coef)),
        (0.0, 1e-5, 0.0, 0.0, 0),
        False,
        metrics,
    )
    assert metrics[0, SUMS + 2] == 1
    return mlp.unpack(plan, slopes[0, 0, :n]), metrics[0]


@pytest.mark.parametrize(
    ("layers", "activation", "clip_value", "masked"),
    [
        ((28, 64, 64, 31), "tanh", False, False),
        ((5, 24, 40, 16, 7), "relu", True, False),
        ((33, 128, 3), "tanh", True, False),
        ((3, 4), "tanh", False, False),
        ((28, 64, 64, 31), "tanh", False, True),
        ((5, 24, 81), "relu", True, True),
    ],
)
def test_gradient_against_finite_differences(layers, activation, clip_value, masked):
    """Central differences in float64 along random directions and along single weights."""
    samples, weights = make_samples(layers, 9, masked), weights_of(layers).astype(np.float64)
    settings = (0.1, 0.8, 0.2, clip_value, 0.5, 0.01)
    found, metrics = gradient(layers, activation, weights, samples, *settings)
    rng = np.random.default_rng(3)
    directions = list(rng.standard_normal((20, weights.size))) + [
        np.eye(1, weights.size, k)[0] for k in rng.integers(0, weights.size, 20)
    ]
    start = weights.astype(np.float32).astype(np.float64)
    size = np.linalg.norm(found)
    for direction in directions:
        direction = direction / np.linalg.norm(direction)
        step = 1e-5
        slope = (
            loss(layers, activation, start + step * direction, samples, *settings)
            - loss(layers, activation, start - step * direction, samples, *settings)
        ) / (2 * step)
        assert abs(slope - found @ direction) < 2e-5 * size + 1e-7
    total = loss(layers, activation, start, samples, *settings)
    sums = metrics[:SUMS] / metrics[SUMS]
    assert abs(sums[0] + 0.5 * sums[1] - 0.01 * sums[2] - total) < 1e-5 * max(1, abs(total))


def test_adam_is_the_textbooks():
    rng = np.random.default_rng(4)
    n, steps = 96, 7
    params, moment, square = aligned(n), aligned(n), aligned(n)
    params[:] = rng.standard_normal(n)
    p, m, v = params.astype(np.float64), np.zeros(n), np.zeros(n)
    for step in range(1, steps + 1):
        slopes = aligned((2, n + 16))
        slopes[:, :n] = rng.standard_normal((2, n))
        total = slopes[:, :n].sum(0, dtype=np.float64)
        places = [array.ctypes.data for array in (params, moment, square, slopes)]
        norm = adam_step(n, *places, slopes.strides[0], 2, step, 0.01, 1e-5, 0.5)
        assert np.isclose(norm, np.linalg.norm(total), rtol=1e-5)
        total *= min(1.0, 0.5 / (np.linalg.norm(total) + 1e-6))
        m = 0.9 * m + 0.1 * total
        v = 0.999 * v + 0.001 * total**2
        p -= 0.01 * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-5)
    assert np.allclose(params, p, atol=1e-5)


def test_adam_refuses_what_is_not_finite():
    params, moment, square, slopes = aligned(32), aligned(32), aligned(32), aligned(48)
    params[:], slopes[:32], slopes[5] = 1, 1, np.nan
    places = [array.ctypes.data for array in (params, moment, square, slopes)]
    norm = adam_step(32, *places, 0, 1, 1, 0.1, 1e-5, 0.5)
    assert np.isnan(norm)
    assert (params == 1).all()
    assert not moment.any() and not square.any()
