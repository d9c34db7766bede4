"""Both learners: equal to each other, resumable to the bit, and never ruined by a number that is not finite."""

import dataclasses
import itertools
import subprocess
import sys

import numpy as np
import pytest

from dshq_kernels.rollout import Samples
from dshq_widget import learners as package
from dshq_widget.config import TrainConfig
from dshq_widget.learners import FINAL_RATE, Hyper, learners
from dshq_widget.learners.fused import FusedPPO
from dshq_widget.learners.ppo import TorchPPO
from dshq_widget.policy import Policy, PolicySpec, initial_weights

SPEC = PolicySpec((28, 64, 64, 31))
METRICS = {"loss_policy", "loss_value", "entropy", "approx_kl", "clip_fraction", "explained_variance", "grad_norm"}


def make_samples(units=64, spec=SPEC, seed=0):
    """A rollout that the initial policy of `seed` could have played."""
    rng = np.random.default_rng(seed)
    samples = Samples.new(units, spec.layers[0])
    samples.obs[:] = rng.standard_normal(samples.obs.shape)
    policy = Policy(spec.layers, spec.activation, FusedPPO(spec, seed=seed).blob())
    obs = samples.obs.transpose(0, 2, 1)
    samples.action[:] = policy.act(obs, rng)
    logits, samples.value[:] = policy.forward(obs)
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    samples.log_prob[:] = np.take_along_axis(log_probs, samples.action[..., None], -1)[..., 0]
    samples.advantage[:] = rng.standard_normal(samples.value.shape) + 3 * (samples.action == 3)
    samples.returns[:] = samples.value + samples.advantage
    return samples


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "hyper",
    [
        Hyper(minibatch_size=256, epochs=2),
        Hyper(
            minibatch_size=300,
            epochs=1,
            clip_value=True,
            normalize_advantages=False,
            entropy_coef=0.05,
            learning_rate=1e-3,
        ),
    ],
)
def test_fused_equals_torch(hyper, threads):
    samples, units = make_samples(), np.arange(3, 64)
    start = FusedPPO(SPEC, seed=0).blob()
    results = []
    for learner in (TorchPPO(SPEC, seed=0), FusedPPO(SPEC, seed=0, threads=threads)):
        metrics = learner.update(samples, units, hyper)
        assert set(metrics) == METRICS
        results.append((learner.blob(), metrics))
    (torch_blob, torch_metrics), (fused_blob, fused_metrics) = results
    moved = np.linalg.norm(torch_blob - start)
    assert moved > 0.01
    assert np.linalg.norm(fused_blob - torch_blob) < 1e-5 * np.linalg.norm(torch_blob)
    assert np.linalg.norm(fused_blob - torch_blob) < 1e-3 * moved
    for name in METRICS:
        assert fused_metrics[name] == pytest.approx(torch_metrics[name], rel=1e-4, abs=1e-6), name


@pytest.mark.parametrize("spec", [PolicySpec((5, 16, 3), "relu"), PolicySpec((9, 32, 24, 40, 6))])
def test_fused_equals_torch_for_other_shapes(spec):
    samples, hyper = make_samples(10, spec), Hyper(minibatch_size=64)
    blobs = []
    for learner in (TorchPPO(spec, seed=0), FusedPPO(spec, seed=0, threads=2)):
        learner.update(samples, np.arange(10), hyper)
        blobs.append(learner.blob())
    assert np.linalg.norm(blobs[1] - blobs[0]) < 1e-5 * np.linalg.norm(blobs[0])


@pytest.mark.parametrize("name", sorted(learners))
def test_learning_raises_the_rewarded_action(name):
    learner, samples = learners[name](SPEC, seed=0), make_samples()
    policy = Policy(SPEC.layers, SPEC.activation, learner.blob())
    obs = samples.obs.transpose(0, 2, 1)
    before = policy.probabilities(obs)[..., 3].mean()
    for _ in range(3):
        learner.update(samples, np.arange(64), Hyper(minibatch_size=256))
    assert Policy(SPEC.layers, SPEC.activation, learner.blob()).probabilities(obs)[..., 3].mean() > before + 0.001


@pytest.mark.parametrize("name", sorted(learners))
def test_resumes_to_the_bit(name):
    samples, units, hyper = make_samples(), np.arange(64), Hyper(minibatch_size=256)
    learner = learners[name](SPEC, seed=0)
    learner.update(samples, units, hyper)
    blob, state = learner.blob(), learner.state()
    learner.update(samples, units, hyper)
    other = learners[name](SPEC, seed=99)
    other.load(blob)
    other.restore(state)
    other.update(samples, units, hyper)
    assert np.array_equal(other.blob(), learner.blob())
    for key, value in learner.state().items():
        assert np.array_equal(other.state()[key], value), key


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_same_bits_every_time(threads):
    samples, hyper = make_samples(), Hyper(minibatch_size=256, epochs=2)
    blobs = []
    for _ in range(2):
        learner = FusedPPO(SPEC, seed=5, threads=threads)
        learner.update(samples, np.arange(64), hyper)
        blobs.append(learner.blob())
    assert np.array_equal(*blobs)


def test_state_travels_between_learners():
    samples, units, hyper = make_samples(), np.arange(64), Hyper(minibatch_size=256)
    first = FusedPPO(SPEC, seed=0)
    first.update(samples, units, hyper)
    second = TorchPPO(SPEC, seed=1)
    second.load(first.blob())
    second.restore(first.state())
    for learner in (first, second):
        learner.update(samples, units, hyper)
    assert np.linalg.norm(first.blob() - second.blob()) < 1e-5 * np.linalg.norm(first.blob())


@pytest.mark.parametrize("name", sorted(learners))
def test_a_poisoned_minibatch_is_skipped_and_counted(name):
    samples = make_samples()
    samples.returns[7, 3] = np.nan
    learner = learners[name](SPEC, seed=0)
    metrics = learner.update(samples, np.arange(64), Hyper(minibatch_size=256))
    assert learner.skipped == 1
    assert np.isfinite(learner.blob()).all()
    assert all(np.isfinite(metrics[key]) for key in METRICS - {"explained_variance"})
    samples.returns[:] = np.inf
    before = learner.blob()
    learner.update(samples, np.arange(64), Hyper(minibatch_size=256))
    assert learner.skipped == 5
    assert np.array_equal(learner.blob(), before)


@pytest.mark.parametrize("name", sorted(learners))
def test_target_kl_stops_an_update(name):
    samples, units = make_samples(), np.arange(64)
    hyper = Hyper(minibatch_size=256, epochs=20, learning_rate=0.01)
    free, held = learners[name](SPEC, seed=0), learners[name](SPEC, seed=0)
    free.update(samples, units, hyper)
    held.update(samples, units, dataclasses.replace(hyper, target_kl=0.01))
    assert int(held.state()["adam_step"]) < int(free.state()["adam_step"]) == 80


def test_minibatches_cover_each_epoch_once():
    units = np.arange(5, 105)
    order, bounds = package.plan_minibatches(np.random.default_rng(0), units, Hyper(minibatch_size=16 * 30, epochs=3))
    assert len(bounds) == 3 * 3 + 1 and bounds[0] == 0 and bounds[-1] == 300
    for epoch in range(3):
        assert np.array_equal(np.sort(order[epoch * 100 : (epoch + 1) * 100]), units)
    assert not np.array_equal(order[:100], order[100:200])
    assert set(np.diff(bounds)) <= {33, 34}


def test_schedules_run_on_agent_steps():
    config = TrainConfig(total_agent_steps=1000, learning_rate=1e-2, entropy_coef=0.1)
    assert Hyper.at(config, 0).learning_rate == pytest.approx(1e-2)
    assert Hyper.at(config, 500).learning_rate == pytest.approx(1e-2 * (1 + FINAL_RATE) / 2)
    assert Hyper.at(config, 500).entropy_coef == pytest.approx(0.05)
    assert Hyper.at(config, 5000).learning_rate == pytest.approx(1e-2 * FINAL_RATE)
    assert Hyper.at(config, 5000).entropy_coef == 0
    constant = config.replace({"lr_schedule": "constant"})
    assert Hyper.at(constant, 5000) == Hyper.at(constant, 0)
    cosine = config.replace({"lr_schedule": "cosine"})
    rates = [Hyper.at(cosine, step).learning_rate for step in range(0, 1001, 10)]
    assert rates[0] < rates[2] and rates[-1] == pytest.approx(1e-3)
    assert all(a >= b for a, b in itertools.pairwise(rates[2:]))


def test_initial_weights_are_orthogonal():
    for matrix, bias in SPEC.split(initial_weights(SPEC.layers, 3))[:-1]:
        gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
        assert np.allclose(gram, 2 * np.eye(len(gram)), atol=1e-5)
        assert not bias.any()
    policy = Policy(SPEC.layers, SPEC.activation, initial_weights(SPEC.layers, 3))
    assert policy.probabilities(np.ones((1, 28))).max() < 0.05
    assert np.array_equal(initial_weights(SPEC.layers, 3), policy.weights)


def test_policy_acts_as_its_probabilities_say():
    spec = PolicySpec((3, 5))
    policy = Policy(spec.layers, spec.activation, initial_weights(spec.layers, 0) * 100)
    obs = np.array([0.3, -0.2, 0.5], np.float32)
    drawn = policy.act(np.tile(obs, (40_000, 1)), np.random.default_rng(0))
    assert np.allclose(np.bincount(drawn, minlength=4) / 40_000, policy.probabilities(obs), atol=0.01)
    assert policy.act(obs, greedy=True) == policy.probabilities(obs).argmax()
    again = Policy(policy.spec.layers, policy.spec.activation, policy.weights)
    assert [policy.act(obs) for _ in range(20)] == [again.act(obs) for _ in range(20)], "two copies draw alike"
    with pytest.raises(ValueError, match="3 observations"):
        policy.forward(np.zeros(4))


def test_the_fused_learner_needs_no_torch():
    code = """
import sys, numpy as np
from dshq_kernels.rollout import Samples
from dshq_widget.learners import Hyper, learners
from dshq_widget.policy import PolicySpec
learner = learners["fused"](PolicySpec((3, 8, 4)))
learner.update(Samples.new(4, 3), np.arange(4), Hyper())
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


@pytest.mark.gpu
def test_the_gpu_learns_the_same():
    samples, units, hyper = make_samples(), np.arange(64), Hyper(minibatch_size=256)
    blobs = []
    for learner in (TorchPPO(SPEC, seed=0, device="cuda"), FusedPPO(SPEC, seed=0)):
        learner.update(samples, units, hyper)
        blobs.append(learner.blob())
    assert np.linalg.norm(blobs[1] - blobs[0]) < 1e-3 * np.linalg.norm(blobs[0])
