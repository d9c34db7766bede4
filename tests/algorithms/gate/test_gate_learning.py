"""The gate's networks, and what its trainer learns from the decisions that are kept."""

import itertools

import numpy as np
import pytest

from dshq_widget.algorithms.gate import components as parts
from dshq_widget.algorithms.gate import losses
from dshq_widget.algorithms.gate.continuous_trainer import ContinuousTrainer
from dshq_widget.algorithms.gate.experience import ExperienceBuffer
from dshq_widget.algorithms.gate.learner import GateLearner
from dshq_widget.algorithms.gate.network import LAYOUTS, GateNetwork
from dshq_widget.algorithms.gate.proposal import propose
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.algorithms.gate.shape import LAYERS
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.learning.parts import Experience, Progress
from dshq_widget.learning.saved.saved_state import with_fresh_moments
from dshq_widget.policy.policy import Policy
from tests.harness.games.decisions import experience, features

pytestmark = pytest.mark.usefixtures("learners_in_threads")


def learned(kind, seed=3):
    """A network in which nothing is zero."""
    network = GateNetwork.initial(seed, kind)
    network.flat += np.random.default_rng(seed).normal(0, 0.1, network.flat.shape).astype(np.float32)
    return network


NETWORKS = pytest.mark.parametrize("kind", ["places", "source"])


class TestNetwork:
    @NETWORKS
    def test_the_flat_network_is_the_same_policy(self, kind):
        network, x = learned(kind), features(np.random.default_rng(0), 16)
        chunk_logits, type_logits, value, _ = network.forward(x)
        flat = Policy(LAYERS[kind], "relu", network.blob())
        logits, same_value = flat.forward(x)
        chances = flat.probabilities(x)
        heads = losses.Heads.of(chunk_logits, type_logits)
        of_chunk, combat = heads.chunk, heads.combat
        np.testing.assert_allclose(logits[:, 400:800], chunk_logits, atol=2e-5)
        np.testing.assert_allclose(chances[:, 800:], of_chunk * combat[:, None], atol=1e-6)
        np.testing.assert_allclose(chances[:, 400:800], of_chunk * (1 - combat)[:, None], atol=1e-6)
        np.testing.assert_allclose(same_value, value, atol=1e-5)
        assert chances[:, :400].max() < 1e-9, "waiting is the gate's business"

    @NETWORKS
    def test_flat_weights_come_back(self, kind):
        network = learned(kind)
        assert np.array_equal(GateNetwork.from_blob(network.blob()).flat, network.flat)
        blob = network.blob()
        blob[-4] += 1
        with pytest.raises(ValueError, match="train with algorithm gate"):
            GateNetwork.from_blob(blob)
        with pytest.raises(ValueError, match="got shape"):
            GateNetwork.from_blob(blob[:-1])

    def test_a_chunk_is_judged_by_where_it_lies_to_a_place(self):
        """Chunks 47 and 67 lie beside one another; 47 and 57 do not, though their numbers are nearer."""
        network = GateNetwork(np.zeros(LAYOUTS["places"].size, np.float32))
        network.views["wp"][:], network.views["wr"][:, 2] = 0.25, 0.25  # all traits pull within three chunks
        x = np.zeros((1, 28), np.float32)
        x[0, 5:10] = (47 / 399, 0.5, 0, 0.5, 0.5)
        (logits,) = network.forward(x)[0]
        assert logits.argmax() == 47 and logits[67] == pytest.approx(logits[46]) == pytest.approx(logits[47] * 2 / 3)
        assert logits[57] == 0 and logits[0] == 0, "far away; and an empty place is none"

    @pytest.mark.parametrize("loss", ["policy_gradient", "expected_signal", "target_shaping"])
    def test_gradients_are_those_of_finite_differences(self, loss):
        rng = np.random.default_rng(1)
        x = rng.random((6, 28)).astype(np.float32)
        chosen, kinds = rng.integers(0, 400, 6), rng.integers(0, 2, 6)
        reward, confidence = rng.uniform(-1, 1, 6), np.full(6, 0.9)
        signals = rng.uniform(-1, 1, (6, 2, 400))
        network = GateNetwork.initial(0)
        before = losses.Heads.of(*(out.astype(np.float64) for out in network.forward(x)[:2]))

        def value(chunk_logits, type_logits):
            """The loss itself, in float64, with what is constant held as it was."""
            c = np.exp(chunk_logits) / np.exp(chunk_logits).sum(1, keepdims=True)
            t = 1 / (1 + np.exp(-type_logits))
            rows = np.arange(6)
            log_type = np.log(np.where(kinds == 1, t, 1 - t))
            h = -(c * np.log(c)).sum(1) - t * np.log(t) - (1 - t) * np.log(1 - t)
            if loss == "expected_signal":
                chances = c[:, None] * np.stack([1 - t, t], 1)[..., None]
                return -(chances * signals).sum((1, 2)).mean() - 0.01 * h.mean()
            if loss == "policy_gradient":
                was = before.chunk[rows, chosen] * np.where(kinds == 1, before.combat, 1 - before.combat)
                weight = np.minimum(2, was / confidence) * reward
                return -(weight * (np.log(c[rows, chosen]) + log_type)).mean() - 0.01 * h.mean()
            target = before.chunk.copy()
            target[rows, chosen] = np.maximum(target[rows, chosen] - 0.5 * np.abs(reward), 0)
            target /= target.sum(1, keepdims=True)
            target[reward > 0] = np.eye(400)[chosen[reward > 0]]
            kind = np.where(reward > 0, kinds, 1 - kinds)
            cross = -(target * np.log(c)).sum(1) - 0.5 * (kind * np.log(t) + (1 - kind) * np.log(1 - t))
            return (np.abs(reward) * cross).mean()

        logits = [out.astype(np.float64) for out in network.forward(x)[:2]]
        if loss == "policy_gradient":
            ratio = losses.ratios(before, chosen, kinds, confidence)
            got = losses.policy_gradient(before, chosen, kinds, ratio * reward, 0.01)
        elif loss == "expected_signal":
            got = losses.expected_signal(before, signals, 0.01)
        else:
            got = losses.target_shaping(before, chosen, kinds, reward)
        assert got[0] == pytest.approx(value(*logits), rel=1e-5)
        for row, column in itertools.product(range(6), (0, int(chosen[0]), 399)):
            step = np.zeros((6, 400))
            step[row, column] = 1e-5
            slope = (value(logits[0] + step, logits[1]) - value(logits[0] - step, logits[1])) / 2e-5
            assert got[2][row, column] == pytest.approx(slope, abs=1e-6)
        for row in range(6):
            step = np.zeros(6)
            step[row] = 1e-5
            slope = (value(logits[0], logits[1] + step) - value(logits[0], logits[1] - step)) / 2e-5
            assert got[3][row] == pytest.approx(slope, abs=1e-6)

    @NETWORKS
    def test_the_networks_own_gradient(self, kind):
        rng = np.random.default_rng(2)
        x, network = features(rng, 4), learned(kind, 5)
        up = [rng.standard_normal(shape).astype(np.float32) for shape in ((4, 400), (4,), (4,))]

        def value(flat):
            out = GateNetwork(flat).forward(x.astype(np.float64))[:3]
            return sum((u * o).sum() for u, o in zip(up, out, strict=True))

        *_, hidden = network.forward(x)
        gradient = network.gradient(hidden, *up)
        flat = network.flat.astype(np.float64)
        in_front = network.layout.places["w1"][0]
        for k in (*rng.integers(0, len(flat), 60), *range(0, in_front, 3)):
            step = np.zeros(len(flat))
            step[k] = 1e-5
            slope = (value(flat + step) - value(flat - step)) / 2e-5
            assert gradient[k] == pytest.approx(slope, rel=1e-3, abs=1e-3)

    def test_proposals(self):
        network, x = GateNetwork.initial(0), features(np.random.default_rng(0), 500)
        one = np.repeat(x[:1], 4000, axis=0)
        drawn = propose(network, one, np.random.default_rng(0))
        combat = float(losses.Heads.of(*network.forward(x[:1])[:2]).combat[0])
        assert np.mean([p.kind == "combat" for p in drawn]) == pytest.approx(combat, abs=0.04)
        assert all(0 <= p.chunk < 400 and 0 < p.confidence <= 1 for p in drawn)
        assert drawn[0].action == 400 * (1 + parts.TYPES.index(drawn[0].kind)) + drawn[0].chunk
        assert propose(network, x[:1])[0].chunk == network.forward(x[:1])[0].argmax()
        with pytest.raises(ValueError, match="finite"):
            propose(network, np.full((1, 28), np.nan, np.float32))


def filled(n=64, seed=0, **changes):
    """A buffer in which chunk 7 is good and every other chunk bad."""
    rng, buffer = np.random.default_rng(seed), ExperienceBuffer(1000)
    for k in range(n):
        where = 7 if k % 2 else int(rng.integers(0, 400))
        good = where == 7
        values = {"spawn_chunk": where, "gate_signal": 0.3 if good else -0.5, "was_executed": False} | changes
        buffer.add(experience(observation=rng.random(28, np.float32), nn_confidence=1 / 800, **values))
    return buffer


class TestTrainer:
    @pytest.mark.parametrize("loss", ["policy_gradient", "target_shaping"])
    @pytest.mark.parametrize("priority", [False, True])
    def test_it_learns_from_decisions_that_were_never_carried_out(self, loss, priority):
        how = {"network": "source", "judged": "proposal", "entropy_coef": 0.0, "learning_rate": 0.001}
        trainer = ContinuousTrainer(filled(200), GateSettings(loss=loss, priority=priority, **how))
        x = np.random.default_rng(9).random((50, 28), np.float32)

        def chance():
            return losses.Heads.of(*trainer.get_model_for_inference().network.forward(x)[:2]).chunk[:, 7].mean()

        before = chance()
        for _ in range(150):
            trainer.step()
        assert before < 0.05 and chance() > 0.3

    def test_a_step_is_a_version_and_too_little_is_none(self):
        buffer = filled(7)
        trainer = ContinuousTrainer(buffer)
        assert trainer.step() == {} and trainer.get_model_for_inference().version == 0
        buffer.add(experience())
        before = trainer.get_model_for_inference()
        kept = before.network.flat.copy()
        assert trainer.step()["batch_size"] == 8
        assert trainer.get_model_for_inference().version == 1
        assert np.array_equal(before.network.flat, kept), "whoever holds a version keeps it"

    def test_a_step_that_fails_is_said_and_survived(self):
        said, trainer = [], ContinuousTrainer(filled())
        learner = GateLearner(trainer, 0, np.zeros(1, np.float32), said.append)
        sample, progress = trainer.buffer.sample, Progress(TrainConfig(), 0, 0)
        due = Experience(None, np.zeros(0, np.int64), np.zeros(0))

        def flaky(*args, **kwargs):
            trainer.buffer.sample = sample
            raise OSError("out of luck")

        trainer.buffer.sample = flaky
        assert learner.update(due, progress) == {} and learner.skipped == 1
        assert said == ["a training step of the gate failed: out of luck"]
        assert learner.update(due, progress)["batch_size"] > 0 and learner.skipped == 1

    def test_a_gradient_that_is_not_finite_is_skipped(self):
        trainer = ContinuousTrainer(filled())
        batch = trainer.buffer.newest(16)
        batch["observation"][0, 1] = np.inf
        with np.errstate(all="ignore"):
            assert trainer.step(batch=batch) == {}
        assert trainer.skipped == 1 and trainer.get_model_for_inference().version == 0

    def test_with_fresh_moments_its_first_step_is_a_first_step(self):
        """As in a learner that replaces a dead one: a step without its moments would be three times as long."""
        one, other = (ContinuousTrainer(filled(), seed=4) for _ in range(2))
        batch = one.buffer.newest(16)
        for _ in range(200):
            one.step()
        other.restore(with_fresh_moments(one.state()))
        assert other.adam.steps == 0
        fresh = ContinuousTrainer(filled(), seed=4)
        assert other.step(batch=batch) == fresh.step(batch=batch)
        moved = [each.get_model_for_inference().network.flat for each in (other, fresh)]
        assert np.array_equal(*moved)

    def test_the_reward_head_predicts_the_expected_reward(self):
        trainer = ContinuousTrainer(filled(R_expected=0.4), GateSettings(reward_head=True, learning_rate=0.01))
        for _ in range(200):
            trainer.step()
        x = trainer.buffer.newest(10)["observation"]
        assert trainer.get_model_for_inference().network.forward(x)[2].mean() == pytest.approx(0.4, abs=0.1)
        without = ContinuousTrainer(filled(R_expected=0.4))
        without.step()
        assert not without.get_model_for_inference().network.forward(x)[2].any()

    @pytest.mark.parametrize(("mode", "trained"), [("gated", 64), ("sent_only", 0), ("filter", 0), ("ungated", 0)])
    def test_what_each_mode_learns_from(self, mode, trained):
        trainer = ContinuousTrainer(filled(64), GateSettings(mode=mode, batch_size=256))
        assert trainer.step().get("batch_size", 0) == trained
        trainer.buffer.add(experience(gate_signal=0.2, territory_id=5))
        trainer.buffer.complete(5, 0.9)
        learned = trainer.step()
        if mode != "gated":
            assert learned["batch_size"] == 1
            assert learned["training_reward"] == pytest.approx(0.69 if mode == "sent_only" else 0.9)
