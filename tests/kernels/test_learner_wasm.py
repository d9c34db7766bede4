"""The learner's WebAssembly module in Node against the processor's learner, from the same samples and weights."""

import ctypes

import numpy as np
import pytest

from dshq_kernels.network.gradient import learn_scratch
from dshq_kernels.network.mlp import NO_MEMORY, forward_lanes, make_plan, pack, play_scratch
from dshq_kernels.network.ppo_loss import SUMS
from dshq_kernels.network.update import learn
from dshq_kernels.play.records import FORWARD
from dshq_kernels.play.rollout import Rollouts, Samples
from dshq_kernels.simd.vector import aligned
from dshq_widget.algorithms.ppo.learners.learner import sequences
from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drills.ball import Ball
from dshq_widget.drills.binpack import BinPack
from dshq_widget.policy.network import PolicySpec
from tests.harness.wasm_host import SAMPLES, Host, fuses

CLOSE = 1e-5
GAMMA, LAMBDA = 0.98, 0.9
BUILDS = pytest.mark.parametrize("relaxed", [False, True], ids=["simd128", "relaxed"])
pytestmark = pytest.mark.slow  # each build is compiled for half a minute, if it is not cached
NUMBERS = {
    "advantage_scale": 1.0,
    "reward_scale": 1.0,
    "clip": 0.2,
    "clip_value": 1,
    "value_coef": 0.5,
    "entropy_coef": 0.01,
    "learning_rate": 1e-3,
    "epsilon": 1e-5,
    "max_norm": 0.5,
    "steps": 3,
}


def network(spec, memory=0):
    """Layers, plan and padded weights of a network that is not at its beginning."""
    shape = PolicySpec.for_drill(spec, (64, 64), memory=memory)
    weights = PolicySpec(shape.layers).untrained(1)
    weights += np.random.default_rng(2).standard_normal(weights.size).astype(np.float32) * 0.2
    plan = make_plan(shape.layers)
    return shape.layers, plan, pack(plan, weights)


def compare(found, wanted, exact):
    """Equal within 1e-5, or in every bit."""
    if exact:
        assert found.tobytes() == wanted.tobytes()
    np.testing.assert_allclose(found, wanted, rtol=CLOSE, atol=CLOSE)


@BUILDS
@pytest.mark.parametrize("game", [Ball, BinPack])  # dense layers; and pairs in front, whose functions the plan calls
def test_forward(game, relaxed):
    drill = compile_drill(game)
    layers, plan, params = network(drill.spec)
    x = np.random.default_rng(0).standard_normal((2, layers[0], 16)).astype(np.float32)
    scratch = aligned(play_scratch(plan) + 64)
    places = (params.ctypes.data, x.ctypes.data, x[1].ctypes.data)
    at = forward_lanes(plan, 1, *places, 0, 0, NO_MEMORY, scratch.ctypes.data)
    count = layers[-1] * 2 * 16
    wanted = np.ctypeslib.as_array((ctypes.c_float * count).from_address(at)).copy()

    host = Host(drill, relaxed)
    at = host.forward(plan, 1, params, x)
    host.run()
    found = host.read(int(host.read(at, np.zeros(1, FORWARD))["result"][0]), wanted)
    compare(found, wanted, exact=relaxed and fuses(drill))


def games_of(drill, layers):
    how = {"games": 96, "length": 24, "shares": {"self": 0.5, "chaser": 0.25, "random": 0.25}, "seed": 3}
    return Rollouts(drill.game(), drill.spec, layers, 1, **how)


@BUILDS
@pytest.mark.parametrize("memory", [0, 20])
def test_a_rollout_and_an_update(relaxed, memory):
    drill = compile_drill(Ball)
    layers, plan, params = network(drill.spec, memory)
    exact = relaxed and fuses(drill)
    games = games_of(drill, layers)
    samples = Samples.new(games.units, *games.sizes)
    host = Host(drill, relaxed)
    written = host.rollout(games, params, samples, GAMMA, LAMBDA)
    stats = games.new_stats()
    games.play(params, samples, stats, gamma=GAMMA, gae_lambda=LAMBDA)
    host.run()
    assert host.read(written["tiles"], games.tiles).tobytes() == games.tiles.tobytes(), "states have the same bits"
    assert host.read(written["action"], samples.action).tobytes() == samples.action.tobytes()
    for name in SAMPLES:
        wanted = getattr(samples, name)
        if wanted.size == 0:
            continue
        compare(host.read(written[name], wanted), wanted, exact)
    compare(host.read(written["stats"], stats), stats, exact)
    compare(host.read(written["running"], games.running), games.running, exact)

    rows = sequences(games.trainable, games.length) if memory else games.trainable
    order = np.random.default_rng(1).permutation(rows, axis=0).ravel()[: 3 * 24]
    state = np.stack([params, params * 0.01, np.abs(params) * 0.001])[None]
    host = Host(drill, relaxed)
    numbers = {**NUMBERS, "target_kl": 0.0}
    written = host.update(plan, 1, state, samples, order, np.array([0, len(order)]), numbers)
    host.run()
    learned, gradients, metrics = aligned(state.shape), aligned((2, 1, params.size + 16)), np.zeros((1, SUMS + 4))
    learned[:] = state
    f32 = np.float32
    learn(
        0,
        1,
        0,
        plan,
        1,
        learned,
        gradients,
        aligned((1, learn_scratch(plan, samples.length))),
        (*samples.addresses, samples.length),
        order,
        np.ones(len(order), f32),
        np.array([0, len(order)]),
        np.zeros((0, 2), f32),
        (f32(0), f32(1), f32(1)),
        np.zeros(0, f32),
        (f32(0.2), True, f32(0.5), f32(0.01)),
        (1e-3, 1e-5, 0.5, 0.0, 3),
        False,
        metrics,
    )
    assert metrics[0, SUMS + 2] == 1 and np.abs(learned - state).max() > 1e-4
    compare(host.read(written["gradients"], gradients), gradients, exact)
    compare(host.read(written["state"], learned), learned, exact)
    compare(host.read(written["metrics"], metrics), metrics, exact)
