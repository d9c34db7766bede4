"""What a decision teaches where every proposal that was possible is judged (`judged: every`)."""

import dataclasses

import numpy as np
import pytest

from dshq_widget.algorithms.gate import components as parts
from dshq_widget.algorithms.gate import losses, suits
from dshq_widget.algorithms.gate.continuous_trainer import ContinuousTrainer
from dshq_widget.algorithms.gate.experience import SEEN, ExperienceBuffer
from dshq_widget.algorithms.gate.gate import SimulationGate
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.algorithms.gate.territories import Territories
from dshq_widget.env.batch import compiled
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.training.trainer import Trainer
from tests.harness.games.decisions import experience, features
from tests.harness.processes.lockstep_runs import whole_and_in_halves

pytestmark = pytest.mark.usefixtures("learners_in_threads")

EVERY = GateSettings(judged="every", entropy_coef=0.0, learning_rate=0.003)


def decisions(n=64, seed=0, **changes):
    """`n` decisions whose workers lie where the features say. What is proposed has nothing to do with its signal."""
    rng, made = np.random.default_rng(seed), []
    for x in features(rng, n):
        there = np.rint(x[0:25:5] * 399)[x[1:25:5] > 0].astype(int)
        units = {"workers": there, "protectors": rng.integers(0, 400, 2), "queen_energy": 60.0}
        where = {"spawn_chunk": int(rng.integers(400)), "spawn_type": parts.TYPES[rng.integers(2)]}
        judged = {"gate_signal": rng.uniform(-1, 1), "was_executed": False}
        made.append(experience(observation=x, **(units | where | judged | changes)))
    return made


def trainer_of(stored, settings=EVERY, **changes):
    buffer = ExperienceBuffer(1000)
    for decision in stored:
        buffer.add(decision)
    return ContinuousTrainer(buffer, dataclasses.replace(settings, **changes), seed=1)


def expected(trainer):
    """Mean signal that the policy's proposals have in the states of the buffer, computed candidate by candidate."""
    batch, gate = trainer.buffer.newest(1000), SimulationGate(trainer.settings)
    gate.explore(0.0)
    heads = losses.Heads.of(*trainer.get_model_for_inference().network.forward(batch["observation"])[:2])
    means = []
    for k, row in enumerate(batch):
        signals = gate.evaluate_all({name: row[name] for name in SEEN}).gate_signal
        of_type = np.array([1 - heads.combat[k], heads.combat[k]])
        means.append(of_type @ signals @ heads.chunk[k])
    return float(np.mean(means))


def moved(trainer, steps=5):
    for _ in range(steps):
        trainer.step()
    return trainer.get_model_for_inference().network.flat


class TestLearning:
    def test_the_expected_signal_rises_on_fixed_states(self):
        trainer = trainer_of(decisions())
        before = expected(trainer)
        moved(trainer, 200)
        assert expected(trainer) > before + 0.1

    def test_what_was_proposed_decides_nothing(self):
        made = decisions()
        changed = {"spawn_chunk": 5, "spawn_type": "combat", "gate_signal": 0.9, "nn_confidence": 0.5}
        others = [dataclasses.replace(one, **changed) for one in made]
        assert np.array_equal(moved(trainer_of(made)), moved(trainer_of(others)))
        source = {"judged": "proposal"}
        assert not np.array_equal(moved(trainer_of(made, **source)), moved(trainer_of(others, **source)))

    def test_what_a_sent_one_brought_corrects_its_signal(self):
        made = decisions()
        trainer = trainer_of(made)
        batch = trainer.buffer.newest(64)
        signals = SimulationGate(EVERY).signals(*(batch[name] for name in SEEN))
        said = signals[np.arange(64), batch["spawn_type"], batch["spawn_chunk"]]

        def sent(off, **changes):
            brought = [
                (one, float(signal) + off[k % 2]) for k, (one, signal) in enumerate(zip(made, said, strict=True))
            ]
            stored = [dataclasses.replace(one, was_executed=True, actual_reward=was) for one, was in brought]
            return moved(trainer_of(stored, **changes), 1)

        nothing = moved(trainer, 1)
        assert np.allclose(sent((0, 0)), nothing, atol=1e-6), "it brought what the gate said"
        assert not np.allclose(sent((0.5, -0.5)), nothing, atol=1e-4)
        assert np.array_equal(sent((0.5, -0.5), gate_weight=1.0, actual_weight=0.0), nothing)

    def test_its_step_is_the_mean_of_the_sampled_ones(self):
        """The source's gradient over proposals that the policy itself drew, without a baseline, comes to the same."""
        trainer = trainer_of(decisions(4))
        batch, network = trainer.buffer.newest(4), trainer.get_model_for_inference().network
        heads = losses.Heads.of(*network.forward(batch["observation"])[:2])
        signals = SimulationGate(EVERY).signals(*(batch[name] for name in SEEN))
        _, _, d_chunk, d_kind = losses.expected_signal(heads, signals, 0.0)
        sampled = [np.zeros_like(d_chunk), np.zeros_like(d_kind)]
        for chunk in range(400):
            for kind in range(2):
                chance = heads.chunk[:, chunk] * (heads.combat if kind else 1 - heads.combat)
                chosen, kinds = np.full(4, chunk), np.full(4, kind)
                found = losses.policy_gradient(heads, chosen, kinds, chance * signals[:, kind, chunk], 0.0)
                sampled[0] += found[2]
                sampled[1] += found[3]
        np.testing.assert_allclose(d_chunk, sampled[0], atol=1e-6)
        np.testing.assert_allclose(d_kind, sampled[1], atol=1e-6)

    def test_a_new_threshold_counts_at_the_next_step(self):
        poor = decisions(queen_energy=20.0)  # combat parasites are -1 at any threshold
        low, other = (trainer_of(poor, threshold=threshold) for threshold in (0.1, 0.9))
        other.change(low.settings)
        assert np.array_equal(moved(low), moved(other))
        assert not np.array_equal(moved(low), moved(trainer_of(poor, threshold=0.9), 10))

    @pytest.mark.parametrize("changes", [{"mode": "sent_only"}, {"loss": "target_shaping"}])
    def test_elsewhere_it_is_not_read(self, changes):
        made = decisions(was_executed=True, actual_reward=0.5)
        ways = [moved(trainer_of(made, judged=way, **changes)) for way in ("every", "proposal")]
        assert np.array_equal(*ways)


class TestStored:
    def test_signals_are_those_of_the_gate(self):
        territories, gate = Territories(compiled("territory"), 3, 4), SimulationGate(GateSettings(threshold=0.3))
        gate.explore(0.0)
        for energy in (10, 20, 60):
            territories.batch.tiles["queen_energy"][:] = energy
            states = [territories.observation(k) for k in range(3)]
            together = gate.signals(*(np.array([state[name] for state in states]) for name in SEEN))
            for state, signals in zip(states, together, strict=True):
                assert np.array_equal(signals, gate.evaluate_all(state).gate_signal)
            territories.step(np.array([400, 1000, 0]))

    def test_fewer_units_than_there_is_room_for_are_padded(self):
        trainer = trainer_of(decisions(1, workers=[3, -1], protectors=[7], queen_energy=12.5))
        (row,) = trainer.buffer.newest(1)
        assert row["workers"].tolist() == [3, *[-1] * 7] and row["protectors"].tolist() == [7, -1, -1]
        assert row["queen_energy"] == 12.5

    def test_decisions_of_earlier_files_wait_for_later_ones(self):
        trainer = trainer_of(decisions(40))
        old = {name: row for name, row in trainer.buffer.state().items() if name.split(".")[-1] not in SEEN}
        trainer.buffer.restore(old)
        assert len(trainer.buffer) == 40 and trainer.step() == {}
        for decision in decisions(5, seed=1):
            trainer.buffer.add(decision)
        assert trainer.step()["batch_size"] == 5
        trainer.settings = dataclasses.replace(EVERY, judged="proposal")
        assert trainer.step()["batch_size"] == 32


class TestRun:
    def test_train_save_and_go_on_to_the_bit(self, tmp_path):
        ahead, half, after = whole_and_in_halves("territory", tmp_path, 40, seed=3, gate={"judged": "every"})
        assert half.algorithm_settings["judged"] == "every" and np.array_equal(ahead.weights, after.weights)

    def test_a_file_of_an_earlier_release_goes_on(self, tmp_path):
        """Its decisions are not stored with what the gate saw, and its settings do not say how they are judged."""
        with Trainer("territory", gate={"territories": 4, "judged": "proposal"}) as trainer:
            trainer.train_for(updates=20, progress=False)
            path = trainer.save(tmp_path / "old.dshq")
        saved = checkpoint.load(path)
        unsaid = {key: value for key, value in saved.algorithm_settings.items() if key != "judged"}
        state = {name: row for name, row in saved.state.items() if name.split(".")[-1] not in SEEN}
        checkpoint.save(path, dataclasses.replace(saved, algorithm_settings=unsaid, state=state))
        for way in ("every", "proposal"):
            with Trainer(path, gate={"judged": way}) as trainer:
                trainer.train_for(updates=20, progress=False)
                assert trainer.version == 40
                assert not np.array_equal(trainer.latest_policy().weights, saved.weights)

    def test_units_that_no_run_saves_are_refused(self, tmp_path):
        with Trainer("territory", gate={"judged": "every", "territories": 4}) as trainer:
            trainer.train_for(updates=10, progress=False)
            path = trainer.save(tmp_path / "whole.dshq")
        saved = checkpoint.load(path)
        wrong = [("workers", saved.state["train.gate.workers"][:, :3])]
        for name, last in (("workers", 399), ("protectors", 399), ("spawn_chunk", 399), ("spawn_type", 1)):
            row = saved.state[f"train.gate.{name}"]
            wrong += [(name, np.full_like(row, last + 1)), (name, np.full_like(row, -2))]
        for name, row in wrong:
            checkpoint.save(path, dataclasses.replace(saved, state=saved.state | {f"train.gate.{name}": row}))
            with pytest.raises(CheckpointError, match=rf"train\.gate\.{name}.*is not what a run saves"):
                Trainer(path)  # machine code would read outside of its table of distances

    def test_a_drill_with_more_units_is_refused(self):
        spec = compiled("territory").spec
        suits(spec)
        fields = tuple(f._replace(length=9) if f.name == "worker_chunk" else f for f in spec.fields)
        with pytest.raises(ValueError, match="stores 8 numbers of 'worker_chunk' with a decision; .* has 9"):
            suits(dataclasses.replace(spec, fields=fields))
