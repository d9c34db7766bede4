"""Both learners: equal to each other, resumable to the bit, and never ruined by a number that is not finite."""

import dataclasses
import itertools

import numpy as np
import pytest

from benchmarks.rollout_lag import learn
from dshq_widget.algorithms.ppo.learners import learners
from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.normalizer import Moments, Normalizer
from dshq_widget.algorithms.ppo.learners.resident import ResidentPPO
from dshq_widget.algorithms.ppo.learners.torch_ppo import TorchPPO
from dshq_widget.algorithms.ppo.learners.validation import Validator, compare
from dshq_widget.algorithms.ppo.update import MOST_CORRECTED, PPOUpdate
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.learning.exploration import EntropyGuard
from dshq_widget.learning.parts import Experience, Progress
from dshq_widget.learning.schedule import FINAL_RATE
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy
from tests.harness.games.samples import METRICS, SPEC, make_samples


@pytest.mark.parametrize("masked", [False, True])
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
def test_fused_equals_torch(hyper, threads, masked):
    samples, units = make_samples(masked=masked), np.arange(3, 64)
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


@pytest.mark.parametrize("normal", [{}, {"observations": True}])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("make", [TorchPPO, ResidentPPO, lambda *given, **more: FusedPPO(*given, threads=2, **more)])
def test_samples_of_an_earlier_policy_are_corrected(make, masked, normal):
    """Advantages times min(1, ratio), once; samples that are not learned from stay as they are."""
    samples, units = make_samples(seed=0, masked=masked), np.arange(3, 64)
    learner = make(SPEC, seed=1, normalizer=Normalizer(SPEC, **normal))
    if normal:
        learner.update(samples, units, Hyper(learning_rate=0.0))  # which measures
    weights = learner.blob()
    policy, obs = Policy(SPEC.layers, SPEC.activation, weights), samples.obs.transpose(0, 2, 1)
    mask = samples.mask.transpose(0, 2, 1) >> np.arange(SPEC.n_actions, dtype=np.uint32) & 1 if masked else None
    logits = policy.logits(obs, mask)
    log_probs = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    wanted = np.take_along_axis(log_probs, samples.action[..., None], -1)[..., 0]
    weighted = samples.advantage * np.minimum(1, np.exp(wanted - samples.log_prob))
    assert np.abs(wanted - samples.log_prob)[3:].max() > 0.01
    wanted[:3], weighted[:3] = samples.log_prob[:3], samples.advantage[:3]
    for _ in range(2):
        learner.correct_lag(samples, units)
        assert np.allclose(samples.log_prob, wanted, atol=1e-5)
        assert np.allclose(samples.advantage, weighted, atol=1e-4)
    assert np.array_equal(learner.blob(), weights)


@pytest.mark.parametrize("lag", [0, 1, MOST_CORRECTED, MOST_CORRECTED + 1])
def test_only_samples_of_an_earlier_policy_are_corrected(lag):
    samples, units = make_samples(seed=0), np.arange(64)
    before = samples.log_prob.copy()
    update = PPOUpdate(FusedPPO(SPEC, seed=1), pytest.fail)
    update.update(Experience(samples, units, np.zeros(0), lag, age=lag), Progress(TrainConfig(), 0, 0))
    assert np.array_equal(samples.log_prob, before) == (lag not in (1, MOST_CORRECTED))


@pytest.mark.parametrize("normal", [True, False])
def test_what_all_advantages_share_is_no_signal_of_lag(normal):
    """The network is even, the policy that played preferred an action, and all advantages are 1."""
    spec = PolicySpec((28, 8, 31))
    samples, units = make_samples(spec=spec), np.arange(64)
    samples.advantage[:] = 1
    samples.log_prob[:] = np.where(samples.action == 3, np.log(0.9), np.log(0.1 / 29))
    ppo = FusedPPO(spec, seed=1)
    ppo.load(np.zeros(spec.floats, np.float32))
    pulls, learned = [], ppo.update

    def update(given, units, hyper):
        alone = dataclasses.replace(hyper, value_coef=0.0, entropy_coef=0.0)
        pulls.append(np.abs(ppo.gradient(given, units, alone)[0]).max())
        return learned(given, units, hyper)

    ppo.update = update
    config = TrainConfig(normalize_advantages=normal)
    PPOUpdate(ppo, pytest.fail).update(Experience(samples, units, np.zeros(0), 1, age=1), Progress(config, 0, 0))
    assert (pulls[0] < 1e-6) == normal


def test_samples_that_may_not_be_written_are_refused():
    samples = make_samples()
    samples.advantage.flags.writeable = False
    with pytest.raises(ValueError, match="copy log_prob and advantage"):
        FusedPPO(SPEC).correct_lag(samples, np.arange(64))


@pytest.mark.slow
def test_games_of_a_version_ago_teach_nearly_as_much():
    """Without the correction .02 of the matches are won after 10 million steps (docs/LOG.md)."""
    run = learn("sumo", 1, 0, 10e6, {})
    assert max(share for _, share in run["curve"]) > 0.3


OPTIONS = {
    "separate": (PolicySpec((28, 128, 128, 31), separate=True), {}),
    "observations": (SPEC, {"observations": True}),
    "rewards": (SPEC, {"rewards": True}),
    "everything": (PolicySpec((28, 64, 48, 31), "relu", separate=True), {"observations": True, "rewards": True}),
}


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_all_equal_torch_with_options(name):
    spec, normal = OPTIONS[name]
    hyper = Hyper(minibatch_size=256, epochs=2, priority_alpha=0.6, clip_value=True, minibatch_order="sequential")
    samples = make_samples(spec=spec)
    samples.obs[:, 2] = samples.obs[:, 2] * 20 + 7
    samples.returns[:] *= 50
    blobs, metrics = [], []
    for make, options in ((TorchPPO, {}), (FusedPPO, {"threads": 2}), (ResidentPPO, {})):
        learner = make(spec, seed=0, normalizer=Normalizer(spec, **normal), **options)
        for _ in range(3):
            found = learner.update(samples, np.arange(3, 64), hyper)
        blobs.append(learner.blob())
        metrics.append(found)
    for other in (1, 2):
        assert spec.fits(blobs[other])
        assert np.linalg.norm(blobs[other] - blobs[0]) < 1e-4 * np.linalg.norm(blobs[0])
        for key in METRICS:
            assert metrics[other][key] == pytest.approx(metrics[0][key], rel=1e-3, abs=1e-5), key


@pytest.mark.parametrize("name", sorted(learners))
def test_a_separate_value_network_shares_nothing(name):
    """What the value loss does leaves the policy's half alone, and the blob plays like any other network."""
    spec = OPTIONS["separate"][0]
    learner, samples = learners[name](spec, seed=0), make_samples(spec=spec)
    before = learner.blob()
    policy_half, value_half = ([m.copy() for m in network] for network in spec.networks(before))
    assert policy_half[0].shape == (28, 64) and policy_half[2].shape == (64, 30) and value_half[2].shape == (64, 1)
    gram = policy_half[1].T @ policy_half[1]
    assert np.allclose(gram, 2 * np.eye(64), atol=1e-5)
    samples.advantage[:] = 0
    hyper = Hyper(minibatch_size=256, entropy_coef=0.0, normalize_advantages=False)
    learner.update(samples, np.arange(64), hyper)
    after = learner.blob()
    assert spec.fits(after) and after[spec.mask() == 0].size == 2 * 64 * 64 + 64 * 30 + 64
    found = spec.networks(after)
    assert all(np.array_equal(a, b) for a, b in zip(found[0], policy_half, strict=True))
    assert not any(np.array_equal(a, b) for a, b in zip(found[1], value_half, strict=True))
    with pytest.raises(ValueError, match="separate_value_net"):
        learner.load(np.ones(spec.floats, np.float32))
    with pytest.raises(ValueError, match="even width"):
        PolicySpec((3, 5, 4), separate=True)


@pytest.mark.parametrize("name", sorted(learners))
def test_a_learned_function_outlives_its_normalisers(name):
    """The first rollout gives moments and is not learned from: untrained weights are for normalised numbers."""
    learner = learners[name](SPEC, seed=0, normalizer=Normalizer(SPEC, observations=True, rewards=True))
    samples, still = make_samples(), Hyper(minibatch_size=256, learning_rate=0.0)
    samples.obs[:, 4] = samples.obs[:, 4] * 100 - 30
    samples.returns[:] *= 10
    fresh = Policy(SPEC.layers, SPEC.activation, learner.blob())
    assert set(learner.update(samples, np.arange(64), Hyper(minibatch_size=256))) == {"explained_variance"}
    state = learner.state()
    assert state["adam_step"] == 0 and not state["adam_m"].any()
    obs = samples.obs.transpose(0, 2, 1).copy()
    normal = (obs - obs.mean((0, 1))) / np.maximum(obs.std((0, 1)), 0.01)
    logits, value = Policy(SPEC.layers, SPEC.activation, learner.blob()).forward(obs)
    expected, expected_value = fresh.forward(normal)
    assert np.allclose(logits, expected, atol=1e-4)
    assert np.allclose(value, expected_value * samples.returns.std(), rtol=1e-3, atol=1e-2)
    samples.obs[:, 4] *= 3
    samples.returns[:] *= 3
    learner.update(samples, np.arange(64), still)
    again, again_value = Policy(SPEC.layers, SPEC.activation, learner.blob()).forward(obs)
    assert np.allclose(again, logits, atol=1e-4) and np.allclose(again_value, value, rtol=1e-3, atol=1e-2)
    assert learner.state()["normalizer.returns"].shape == (3,)


@pytest.mark.parametrize("name", sorted(learners))
def test_weights_of_a_file_without_moments_play_on_while_they_are_measured(name):
    """As from a champion's file, or after a learner that ended: nothing is learned from raw numbers."""
    learner = learners[name](SPEC, seed=0, normalizer=Normalizer(SPEC, observations=True, rewards=True))
    weights = FusedPPO(SPEC, seed=5).blob()
    learner.load(weights)
    samples, hyper = make_samples(), Hyper(minibatch_size=256)
    samples.obs[:, 4] = samples.obs[:, 4] * 100 - 30
    samples.returns[:] *= 10
    assert set(learner.update(samples, np.arange(64), hyper)) == {"explained_variance"}
    assert np.array_equal(learner.blob(), weights)
    assert learner.state()["normalizer.returns"][2] == pytest.approx(1024, rel=1e-3)
    assert set(learner.update(samples, np.arange(64), hyper)) >= METRICS, "the second is learned from"
    learner.load(weights)
    assert set(learner.update(samples, np.arange(64), hyper)) >= METRICS, "after a revert the moments are known"


@pytest.mark.parametrize("name", sorted(learners))
def test_returns_that_do_not_vary_are_not_explained(name):
    learner, samples = learners[name](SPEC, seed=0), make_samples()
    samples.returns[:] = 2.0
    assert learner.update(samples, np.arange(64), Hyper(minibatch_size=256))["explained_variance"] == 0


def test_a_resident_learner_goes_on_with_the_same_orders():
    before, samples, hyper = ResidentPPO(SPEC, seed=0), make_samples(), Hyper(minibatch_size=256)
    before._generator.manual_seed(77)
    after = ResidentPPO(SPEC, seed=0)
    after.load(before.blob())
    after.restore(before.state())
    assert np.array_equal(before._generator.get_state(), after._generator.get_state())
    assert all(np.array_equal(value, after.state()[key]) for key, value in before.state().items())
    before.update(samples, np.arange(64), hyper)
    after.update(samples, np.arange(64), hyper)
    assert np.array_equal(before.blob(), after.blob())


def test_running_moments_are_those_of_all_at_once():
    rng = np.random.default_rng(0)
    values = (rng.standard_normal((300, 5, 16)) * [[1], [10], [0.1], [1], [0]] + [[0], [1e3], [-5], [1], [2]]).astype(
        "f4"
    )
    moments = Moments(5)
    for units in np.split(np.arange(300), [7, 120, 121]):
        moments.add(values, units)
    rows = values.transpose(0, 2, 1).reshape(-1, 5).astype(np.float64)
    assert np.allclose(moments.mean, rows.mean(0), rtol=1e-5) and np.allclose(moments.count, 4800)
    assert np.allclose(moments.variance, rows.var(0), rtol=1e-3, atol=1e-4)  # the first count weighs a little
    assert moments.deviation[4] == 0.01


@pytest.mark.parametrize("spec", [PolicySpec((5, 16, 3), "relu"), PolicySpec((9, 32, 24, 40, 6))])
def test_fused_equals_torch_for_other_shapes(spec):
    samples, hyper = make_samples(10, spec), Hyper(minibatch_size=64)
    blobs = []
    for learner in (TorchPPO(spec, seed=0), FusedPPO(spec, seed=0, threads=2)):
        learner.update(samples, np.arange(10), hyper)
        blobs.append(learner.blob())
    assert np.linalg.norm(blobs[1] - blobs[0]) < 1e-5 * np.linalg.norm(blobs[0])


@pytest.mark.parametrize("normal", [{}, {"observations": True, "rewards": True}], ids=["plain", "normalised"])
@pytest.mark.parametrize("name", sorted(learners))
def test_resumes_to_the_bit(name, normal):
    samples, units, hyper = make_samples(), np.arange(64), Hyper(minibatch_size=256, priority_alpha=0.5)
    learner = learners[name](SPEC, seed=0, normalizer=Normalizer(SPEC, **normal))
    learner.update(samples, units, hyper)
    blob, state = learner.blob(), learner.state()
    learner.update(samples, units, hyper)
    other = learners[name](SPEC, seed=99, normalizer=Normalizer(SPEC, **normal))
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


def test_schedules_run_on_agent_steps():
    config = TrainConfig(total_agent_steps=1000, learning_rate=1e-2, entropy_coef=0.1)
    assert Hyper.at(config, 0).learning_rate == pytest.approx(1e-2)
    assert Hyper.at(config, 500).learning_rate == pytest.approx(1e-2 * (1 + FINAL_RATE) / 2)
    assert Hyper.at(config, 500).entropy_coef == pytest.approx(0.05)
    assert Hyper.at(config, 5000).learning_rate == pytest.approx(1e-2 * FINAL_RATE)
    assert Hyper.at(config, 5000).entropy_coef == 0
    constant = config.replace({"lr_schedule": "constant"})
    assert Hyper.at(constant, 5000) == Hyper.at(constant, 0)
    assert [Hyper.at(config, step).clip_epsilon for step in (0, 500, 5000)] == [0.2] * 3
    clipped = config.replace({"clip_schedule": "linear"})
    assert [Hyper.at(clipped, step).clip_epsilon for step in (0, 500, 5000)] == pytest.approx([0.2, 0.11, 0.02])
    cosine = config.replace({"lr_schedule": "cosine"})
    rates = [Hyper.at(cosine, step).learning_rate for step in range(0, 1001, 10)]
    assert rates[0] < rates[2] and rates[-1] == pytest.approx(1e-3)
    assert all(a >= b for a, b in itertools.pairwise(rates[2:]))


def test_initial_weights_are_orthogonal():
    for matrix, bias in SPEC.split(PolicySpec(SPEC.layers).untrained(3))[:-1]:
        gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
        assert np.allclose(gram, 2 * np.eye(len(gram)), atol=1e-5)
        assert not bias.any()
    policy = Policy(SPEC.layers, SPEC.activation, PolicySpec(SPEC.layers).untrained(3))
    assert policy.probabilities(np.ones((1, 28))).max() < 0.05
    assert np.array_equal(PolicySpec(SPEC.layers).untrained(3), policy.weights)


def test_policy_acts_as_its_probabilities_say():
    spec = PolicySpec((3, 5))
    policy = Policy(spec.layers, spec.activation, PolicySpec(spec.layers).untrained(0) * 100)
    obs = np.array([0.3, -0.2, 0.5], np.float32)
    drawn = policy.act(np.tile(obs, (40_000, 1)), np.random.default_rng(0))
    assert np.allclose(np.bincount(drawn, minlength=4) / 40_000, policy.probabilities(obs), atol=0.01)
    assert policy.act(obs, greedy=True) == policy.probabilities(obs).argmax()
    again = Policy(policy.spec.layers, policy.spec.activation, policy.weights)
    assert [policy.act(obs) for _ in range(20)] == [again.act(obs) for _ in range(20)], "two copies draw alike"
    with pytest.raises(ValueError, match="3 observations"):
        policy.forward(np.zeros(4))


@pytest.mark.gpu
def test_the_gpu_learns_the_same():
    samples, units, hyper = make_samples(), np.arange(64), Hyper(minibatch_size=256)
    blobs = []
    for learner in (TorchPPO(SPEC, seed=0, device="cuda"), FusedPPO(SPEC, seed=0)):
        learner.update(samples, units, hyper)
        blobs.append(learner.blob())
    assert np.linalg.norm(blobs[1] - blobs[0]) < 1e-3 * np.linalg.norm(blobs[0])


class Wrong(FusedPPO):
    """A learner whose gradient has one slope that is wrong."""

    def gradient(self, samples, units, hyper):
        slope, parts = super().gradient(samples, units, hyper)
        slope[1234] *= 1.5
        slope[1234] += 0.1
        return slope, parts


@pytest.mark.parametrize("name", sorted(OPTIONS))
def test_validation_agrees(name):
    spec, normal = OPTIONS[name]
    learner, samples = FusedPPO(spec, seed=0, normalizer=Normalizer(spec, **normal)), make_samples(spec=spec)
    validator = Validator(learner)
    learner.update(samples, np.arange(64), Hyper(minibatch_size=256))
    before = learner.blob(), learner.state()
    finding = validator.compare(learner, samples, np.arange(64), Hyper(minibatch_size=512), (7, 1))
    assert finding.first is None and finding.count == 0
    assert 0 < finding.largest_relative < 1e-4
    assert np.array_equal(learner.blob(), before[0])
    assert all(np.array_equal(value, before[1][key]) for key, value in learner.state().items())


def test_validation_finds_an_injected_error():
    learner, samples = Wrong(SPEC, seed=0), make_samples()
    finding = Validator(learner).compare(learner, samples, np.arange(64), Hyper(minibatch_size=256), (7, 3))
    assert (finding.first, finding.count, finding.seed) == (1234, 1, (7, 3))
    assert finding.largest_absolute > 0.05 and finding.largest_relative > 0.05
    assert "the first is 1234" in finding.sentence() and "[7, 3]" in finding.sentence()


def test_validation_notices_what_is_no_number():
    wanted = np.ones(5, np.float32)
    found = wanted.copy()
    found[[2, 4]] = np.nan
    assert compare(found, wanted, (0, 0)).first == 2
    assert compare(found, found, (0, 0)).first is None


def test_an_entropy_that_stays_low_is_a_collapse():
    guard, weights = EntropyGuard(), [np.full(3, k, np.float32) for k in range(6)]

    def fed(*entropies, returns=5.0, floor=0.05, guard=guard):
        return [bool(guard.after_update(h, returns, floor, weights[k])) for k, h in enumerate(entropies)]

    assert not any(fed(1.0, 0.08, 0.04, 0.04, 0.06))
    assert not any(fed(0.01, 0.01, 0.01, 0.01, returns=5.5)), "certain, and better for it"
    assert fed(0.01, 0.02, 0.03) == [False, False, True]
    assert guard.awake is weights[0] and guard.bonus == 0.01
    other = EntropyGuard()
    other.restore(guard.state())
    for g in (guard, other):
        assert fed(0.0, 0.0, 0.0, guard=g) == [False, False, True]
        assert g.bonus == 0.02 and np.array_equal(g.awake, weights[0]) and g.usual == 5
    assert sum(sum(fed(0.0, 0.0, 0.0)) for _ in range(9)) == 3 and guard.bonus == 0.1, "in the end it gives up"
    assert not any(fed(0.0, 0.0, 0.0, 0.0, floor=0.0, guard=other)), "a floor of 0 watches nothing"
