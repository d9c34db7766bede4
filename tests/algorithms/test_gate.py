"""The gate's judgement, its buffer, its network and its trainer, without a game."""

import itertools
import math
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dshq_widget.algorithms.gate import components as parts
from dshq_widget.algorithms.gate import losses
from dshq_widget.algorithms.gate.continuous_trainer import ContinuousTrainer
from dshq_widget.algorithms.gate.experience import ExperienceBuffer, training_rewards
from dshq_widget.algorithms.gate.games import annealed
from dshq_widget.algorithms.gate.gate import SimulationGate, sends
from dshq_widget.algorithms.gate.learner import GateLearner
from dshq_widget.algorithms.gate.network import LAYOUTS, GateNetwork
from dshq_widget.algorithms.gate.proposal import propose
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.algorithms.gate.shape import LAYERS
from dshq_widget.contract.setting import ConfigError
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.learning.parts import Experience, Progress
from dshq_widget.learning.saved_state import with_fresh_moments
from dshq_widget.policy.policy import Policy
from tests.harness.games.decisions import experience, features

pytestmark = pytest.mark.usefixtures("learners_in_threads")


def chunk(x, z):
    return z * 20 + x


def view(workers=(), protectors=(), energy=100.0, seconds=0.0):
    return {
        "workers": np.array(workers, np.int64),
        "protectors": np.array(protectors, np.int64),
        "queen_energy": energy,
        "seconds_since_spawn": np.full(400, seconds),
    }


class TestComponents:
    def test_survival(self):
        gate, here = SimulationGate(), chunk(0, 0)

        def survival(*protectors):
            return gate.evaluate(view(protectors=protectors), here, "energy").components["survival"]

        assert survival() == 1
        assert survival(chunk(1, 0)) == 0
        assert survival(chunk(5, 0)) == pytest.approx(1 - 0.2231, abs=1e-4)
        assert survival(chunk(5, 0), chunk(0, 5)) == pytest.approx((1 - 0.2231) ** 2, abs=1e-4)
        assert survival(chunk(8, 0)) == 1
        assert survival(chunk(2, 0)) == 0  # e^0: a threat of 1
        assert survival(-1) == 1, "a dead protector is no threat"

    def test_disruption(self):
        gate, here = SimulationGate(), chunk(10, 10)

        def disruption(kind, workers, protectors):
            return gate.evaluate(view(workers, protectors), here, kind).components["disruption"]

        near, far, guard = chunk(12, 10), chunk(19, 19), chunk(10, 11)
        assert disruption("energy", [near, near, far, far], []) == 0.5
        assert disruption("energy", [near, far], [guard]) == 0
        assert disruption("energy", [far], [guard, here]) == -1, "clipped"
        assert disruption("energy", [], [guard]) == 0
        assert disruption("combat", [near, far], [guard, far]) == 0.5
        assert disruption("combat", [], []) == 0
        assert disruption("combat", [far], [far]) == 0

    def test_location(self):
        gate = SimulationGate()

        def location(workers):
            return gate.evaluate(view(workers), chunk(10, 9), "energy").components["location"]

        assert location([]) == 0, "on the hive"
        assert location([chunk(10, 9)]) == 0
        assert location([chunk(13, 13)]) == pytest.approx(-0.4 * 5 / math.hypot(19, 19))
        assert gate.evaluate(view(), chunk(10, 12), "energy").components["location"] == pytest.approx(
            -0.3 * 3 / 26.870058
        )

    @given(st.lists(st.integers(-1, 399), max_size=8), st.lists(st.integers(-1, 399), max_size=3), st.integers(0, 399))
    @settings(deadline=None, max_examples=100)
    def test_ranges_and_the_cap(self, workers, protectors, where):
        gate = SimulationGate()
        for kind in parts.TYPES:
            result = gate.evaluate(view(workers, protectors), where, kind)
            c = result.components
            assert 0 <= c["survival"] <= 1 and -1 <= c["disruption"] <= 1 and -0.4 <= c["location"] <= 0
            assert kind == "energy" or c["disruption"] >= 0
            assert result.R_expected <= 0.9 and -1 <= result.gate_signal <= 1
            assert result.gate_signal == pytest.approx(max(result.R_expected - 0.6, -1))

    @given(
        st.lists(st.integers(-1, 399), min_size=1, max_size=8),
        st.lists(st.integers(-1, 399), min_size=1, max_size=3),
        st.sampled_from([10.0, 20.0, 30.0]),
    )
    @settings(deadline=None, max_examples=20)
    def test_all_at_once_is_one_by_one(self, workers, protectors, energy):
        gate, seen = SimulationGate(), view(workers, protectors, energy, seconds=90.0)
        together = gate.evaluate_all(seen)
        for row, kind in enumerate(parts.TYPES):
            for where in range(0, 400, 37):
                one = gate.evaluate(seen, where, kind)
                assert one.gate_signal == together.gate_signal[row, where]
                assert one.R_expected == together.R_expected[row, where]
                assert list(one.components.values()) == together.components[row, where].tolist()


class TestGate:
    def test_what_cannot_be_paid_waits_with_a_finite_signal(self):
        gate, rich = SimulationGate(), [chunk(3, 3)]
        assert gate.evaluate(view(rich, energy=15.0), chunk(3, 3), "energy").R_expected == pytest.approx(0.9)
        poor = gate.evaluate(view(rich, energy=14.0), chunk(3, 3), "energy")
        assert poor.gate_signal == poor.R_expected == -1 and not sends(poor.gate_signal)
        negative = view(
            [chunk(19, 19)], [chunk(0, 0)], energy=14.0
        )  # a negative bracket: minus infinity times it is plus
        assert gate.evaluate(negative, chunk(0, 0), "combat").gate_signal == -1

    def test_the_threshold_itself_waits(self):
        gate = SimulationGate(
            GateSettings(survival_weight=0.6, disruption_weight=0.0, location_weight=0.0, exploration=0)
        )
        result = gate.evaluate(view(), 0, "energy")
        assert result.R_expected == 0.6 and not sends(result.gate_signal)
        assert sends(gate.evaluate(view(), 0, "energy").gate_signal + 1e-6)

    def test_survival_alone_never_sends_even_with_the_whole_bonus(self):
        result = SimulationGate().evaluate(view(seconds=1000.0), parts.HIVE, "energy")
        assert result.components["exploration"] == 0.2 and result.R_expected == pytest.approx(0.6)
        assert not sends(result.gate_signal)

    def test_the_bonus_grows_for_five_minutes_and_is_annealed(self):
        gate = SimulationGate()
        bonus = [gate.evaluate(view(seconds=s), 0, "energy").components["exploration"] for s in (0, 150, 300, 900)]
        assert bonus == [0, 0.1, 0.2, 0.2]
        assert [annealed(gate.settings, n) for n in (0, 1000, 2000, 9000)] == [0.2, 0.1, 0, 0]
        assert annealed(GateSettings(exploration_decisions=0), 10**9) == 0.2

    def test_confidence_is_no_way_past_the_gate(self):
        gate, seen = SimulationGate(), view([chunk(3, 3)], [chunk(4, 4)])
        assert gate.evaluate(seen, 0, "energy", 0.0) == gate.evaluate(seen, 0, "energy", 1.0)

    @pytest.mark.parametrize(
        ("seen", "where", "kind", "sentence"),
        [
            (view(), 400, "energy", "from 0 to 399"),
            (view(), -1, "energy", "from 0 to 399"),
            (view(), 1.5, "energy", "whole number"),
            (view(), 3, "queen", "'energy' or 'combat'"),
            (view(energy=math.nan), 3, "energy", "finite"),
            (view(seconds=math.inf), 3, "energy", "finite"),
            (view([400]), 3, "energy", "workers must be chunks"),
            (view(protectors=[-2]), 3, "energy", "protectors must be chunks"),
            ({"workers": []}, 3, "energy", "lacks protectors and queen_energy"),
        ],
    )
    def test_bad_input_is_a_sentence(self, seen, where, kind, sentence):
        with pytest.raises(ValueError, match=sentence):
            SimulationGate().evaluate(seen, where, kind)

    def test_settings_are_checked(self):
        for wrong, sentence in (
            ({"gate_weight": 0.5}, "add to 1"),
            ({"min_batch_size": 64}, "at most batch_size"),
            ({"threshold": math.nan}, "threshold must be a number"),
            ({"loss": "cross_entropy"}, "loss must be one of"),
        ):
            with pytest.raises(ConfigError, match=sentence):
                GateSettings(**wrong)


class TestBuffer:
    @pytest.mark.parametrize(
        ("signal", "actual", "reward"),
        [(0.25, 0.8, 0.635), (0.15, -0.3, -0.165), (-0.35, None, -0.35), (-0.55, None, -0.55)],
    )
    def test_the_four_worked_rewards(self, signal, actual, reward):
        buffer = ExperienceBuffer(4)
        buffer.add(experience(gate_signal=signal, actual_reward=actual, was_executed=actual is not None))
        assert training_rewards(buffer.newest(1))[0] == pytest.approx(reward)

    def test_a_pending_decision_is_sampled_and_then_completed_in_place(self):
        buffer, rng = ExperienceBuffer(4), np.random.default_rng(0)
        buffer.add(experience(gate_signal=0.25, territory_id=3))
        assert buffer.pending == 1
        assert training_rewards(buffer.sample(1, rng))[0] == 0.25
        assert len(buffer.sample(1, rng, complete=True)) == 0
        assert buffer.complete(3, 0.8) and buffer.pending == 0
        assert training_rewards(buffer.sample(1, rng))[0] == pytest.approx(0.635)
        assert not buffer.complete(3, 0.1), "nothing is pending any more"
        assert len(buffer.sample(1, rng, complete=True)) == 1

    def test_wait_has_no_reward_and_is_final(self):
        buffer = ExperienceBuffer(4)
        buffer.add(experience(was_executed=False, gate_signal=-0.35))
        assert buffer.pending == 0 and np.isnan(buffer.newest(1)["actual_reward"][0])
        assert not buffer.complete(0, 0.5)

    def test_first_in_first_out(self):
        buffer = ExperienceBuffer(10)
        for k in range(25):
            buffer.add(experience(timestamp=float(k), was_executed=False))
        assert len(buffer) == 10 and buffer.added == 25
        assert buffer.newest(99)["timestamp"].tolist() == list(range(15, 25))
        assert not buffer.complete(0, 1.0)

    def test_a_decision_dropped_while_pending_is_not_completed(self):
        buffer = ExperienceBuffer(2)
        buffer.add(experience(territory_id=1))
        for _ in range(2):
            buffer.add(experience(was_executed=False))
        assert not buffer.complete(1, 0.5)
        assert np.isnan(buffer.newest(2)["actual_reward"]).all()

    def test_what_is_not_finite_is_refused_and_stores_nothing(self):
        buffer = ExperienceBuffer(4)
        for wrong in ({"observation": np.full(28, np.nan)}, {"observation": np.zeros(29)}, {"gate_signal": -math.inf}):
            with pytest.raises(ValueError, match="finite"):
                buffer.add(experience(**wrong))
        buffer.add(experience())
        with pytest.raises(ValueError, match="finite"):
            buffer.complete(0, math.nan)
        assert len(buffer) == 1 and buffer.pending == 1

    def test_priority_prefers_large_signals(self):
        buffer = ExperienceBuffer(100)
        for k in range(100):
            buffer.add(experience(gate_signal=-1.0 if k < 10 else 0.0, was_executed=False))
        drawn = buffer.sample(10, np.random.default_rng(0), priority=True)
        assert (drawn["gate_signal"] == -1).sum() >= 9
        uniform = buffer.sample(50, np.random.default_rng(0))
        assert (uniform["gate_signal"] == -1).sum() < 15

    def test_a_new_threshold_judges_what_is_stored_anew(self):
        buffer, gate = ExperienceBuffer(4), SimulationGate()
        result = gate.evaluate(view([3]), 3, "energy")
        buffer.add(experience(gate_signal=result.gate_signal, gate_components=result.components))
        gate.settings = GateSettings(threshold=0.2)
        buffer.rejudge(gate.judge)
        assert buffer.newest(1)["gate_signal"][0] == pytest.approx(result.gate_signal + 0.4)

    @pytest.mark.parametrize("capacity", [7, 16, 40])
    def test_saved_and_restored(self, capacity):
        buffer = ExperienceBuffer(16)
        for k in range(21):
            buffer.add(experience(timestamp=float(k), territory_id=k % 2, was_executed=k > 18))
        other = ExperienceBuffer(capacity)
        other.restore(buffer.state())
        kept = min(capacity, 16)
        assert other.newest(99)["timestamp"].tolist() == list(range(21 - kept, 21))
        assert other.complete(0, 0.5) and other.complete(1, 0.25)
        assert other.newest(2)["actual_reward"].tolist() == [0.25, 0.5]
        other.add(experience(timestamp=99.0, was_executed=False))
        assert other.newest(1)["timestamp"] == 99 and len(other) == min(capacity, kept + 1)

    def test_threads_add_complete_and_sample_at_once(self):
        buffer, broken = ExperienceBuffer(256), []

        def add(who):
            for k in range(400):
                buffer.add(experience(territory_id=who, timestamp=float(k)))
                buffer.complete(who, 0.5)

        def sample(seed):
            rng = np.random.default_rng(seed)
            for _ in range(400):
                batch = buffer.sample(32, rng)
                if not np.isin(batch["actual_reward"][~np.isnan(batch["actual_reward"])], [0.5]).all():
                    broken.append(batch)

        threads = [threading.Thread(target=add, args=(k,)) for k in range(3)]
        threads += [threading.Thread(target=sample, args=(k,)) for k in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert buffer.added == 1200 and not broken and buffer.pending == 0


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

    @pytest.mark.parametrize("loss", ["policy_gradient", "target_shaping"])
    def test_gradients_are_those_of_finite_differences(self, loss):
        rng = np.random.default_rng(1)
        x = rng.random((6, 28)).astype(np.float32)
        chosen, kinds = rng.integers(0, 400, 6), rng.integers(0, 2, 6)
        reward, confidence = rng.uniform(-1, 1, 6), np.full(6, 0.9)
        network = GateNetwork.initial(0)
        before = losses.Heads.of(*(out.astype(np.float64) for out in network.forward(x)[:2]))

        def value(chunk_logits, type_logits):
            """The loss itself, in float64, with what is constant held as it was."""
            c = np.exp(chunk_logits) / np.exp(chunk_logits).sum(1, keepdims=True)
            t = 1 / (1 + np.exp(-type_logits))
            rows = np.arange(6)
            log_type = np.log(np.where(kinds == 1, t, 1 - t))
            if loss == "policy_gradient":
                was = before.chunk[rows, chosen] * np.where(kinds == 1, before.combat, 1 - before.combat)
                weight = np.minimum(2, was / confidence) * reward
                h = -(c * np.log(c)).sum(1) - t * np.log(t) - (1 - t) * np.log(1 - t)
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
        settings = GateSettings(network="source", loss=loss, priority=priority, entropy_coef=0.0, learning_rate=0.001)
        trainer = ContinuousTrainer(filled(200), settings)
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
