"""The gate's judgement and its buffer, without a game."""

import math
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dshq_widget.algorithms.gate import components as parts
from dshq_widget.algorithms.gate.experience import ExperienceBuffer, training_rewards
from dshq_widget.algorithms.gate.games import annealed
from dshq_widget.algorithms.gate.gate import SimulationGate, sends
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.contract.setting import ConfigError
from tests.harness.games.decisions import experience

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
