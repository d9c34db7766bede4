"""Runs of algorithm gate: through the trainer, from and to files, with settings that change."""

import dataclasses
import json
import math
import time

import numpy as np
import pytest

from dshq_widget.algorithms.gate import ALGORITHM, evaluator
from dshq_widget.algorithms.gate.continuous_trainer import ContinuousTrainer
from dshq_widget.algorithms.gate.experience import ExperienceBuffer
from dshq_widget.algorithms.gate.games import GateGames
from dshq_widget.algorithms.gate.gate import SimulationGate
from dshq_widget.algorithms.gate.learner import MOST_BINS, GateReport
from dshq_widget.algorithms.gate.network import GateNetwork
from dshq_widget.algorithms.gate.settings import GateSettings
from dshq_widget.algorithms.gate.shape import LAYERS
from dshq_widget.algorithms.gate.territories import Territories
from dshq_widget.cli.main import main
from dshq_widget.contract.setting import ConfigError
from dshq_widget.env.batch import compiled
from dshq_widget.learning.saved import saved_state
from dshq_widget.learning.saved.fingerprint import NAME
from dshq_widget.learning.telemetry.writers import NO_EVENTS
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.policy.evaluate import evaluate_alone, opponent
from dshq_widget.policy.network import PolicySpec
from dshq_widget.training.run.files import AUTOSAVE_NAME
from dshq_widget.training.trainer import Trainer
from tests.harness.processes.faults import until
from tests.harness.processes.lockstep_runs import whole_and_in_halves

pytestmark = pytest.mark.usefixtures("learners_in_threads")


OTHER_WEIGHTS = "the replay begins empty, since it was made with other values of: reward weights"


def unplayed(seed=0, heard=None, weights=None, warn=print, **settings):
    """Games with a trainer beside them."""
    section = GateSettings(**{"territories": 2} | settings)
    buffer, gate = ExperienceBuffer(section.buffer_capacity), SimulationGate(section)
    trainer = ContinuousTrainer(buffer, section, seed=seed)
    territories = Territories(compiled("territory"), section.territories, seed, weights)
    return GateGames(territories, gate, buffer, seed, [].append if heard is None else heard.append, warn), trainer


def played(decisions, seed=0, **settings):
    """The same after so many decisions."""
    heard = []
    games, trainer = unplayed(seed, heard, **settings)
    steps = 0
    while games.decisions < decisions:
        due = games.next(trainer, None, 0)
        steps += bool(due and trainer.step(1.0, due.samples))
    return games, trainer, heard, steps


class TestGames:
    def test_every_decision_is_stored_and_a_send_is_completed_at_the_next_observation(self):
        games, _, heard, _ = played(60)
        stored = games.buffer.newest(100)
        assert len(stored) == len(heard) == 60
        last, before = stored[-2:], stored[:-2]
        sent = before["was_executed"]
        assert sent.any() and not sent.all()
        assert not np.isnan(before["actual_reward"][sent]).any(), "completed"
        assert np.isnan(stored["actual_reward"][~stored["was_executed"]]).all(), "WAIT has none"
        assert np.isnan(last["actual_reward"]).all() and games.buffer.pending == last["was_executed"].sum()
        assert (np.abs(before["actual_reward"][sent]) <= 1).all()
        assert (stored["timestamp"] == np.repeat(15.0 * np.arange(30), 2)).all()
        assert stored["territory_id"].tolist() == [0, 1] * 30

    def test_what_is_sent_is_carried_out_and_nothing_else(self):
        games, trainer, heard, _ = played(2)
        tiles = games.territories.batch.tiles
        for _ in range(20):
            before = tiles["spawned_at"][0].copy()
            ticks = tiles["ticks"][0].copy()
            games.decide(trainer)
            for lane, decision in enumerate(heard[-2:]):
                changed = np.flatnonzero(tiles["spawned_at"][0][:, lane] != before[:, lane])
                expected = [decision.spawn_chunk] if decision.was_executed and ticks[lane] else []
                assert changed.tolist() == expected

    def test_fifteen_steps_to_a_decision_and_the_newest_version_decides(self):
        _, trainer, heard, steps = played(40, territories=1)
        assert steps == trainer.get_model_for_inference().version
        versions = [decision.model_version for decision in heard]
        assert versions[:8] == [0] * 8 and np.diff(versions[9:]).tolist() == [15] * 30

    def test_without_continuous_training_each_decision_is_trained_on_as_it_is_made(self):
        _, trainer, heard, steps = played(40, territories=1, enabled=False)
        assert steps == 40 - 7 and trainer.get_model_for_inference().version == steps

    @pytest.mark.parametrize("mode", ["sent_only", "filter", "ungated"])
    def test_where_outcomes_count_each_decision_is_trained_on_when_its_outcome_is_known(self, mode, monkeypatch):
        learned = []
        step = ContinuousTrainer.step
        monkeypatch.setattr(ContinuousTrainer, "step", lambda *given: learned.append(given[2]) or step(*given))
        _, trainer, _, steps = played(60, enabled=False, mode=mode)
        assert steps > 10 and trainer.skipped == 0
        rows = np.concatenate(learned)
        assert rows["was_executed"].all() and not np.isnan(rows["actual_reward"]).any()
        assert len({(row["territory_id"], row["timestamp"]) for row in rows}) == len(rows), "each once"

    def test_the_real_clock_makes_a_step_each_interval(self):
        games, trainer, _, _ = played(16, territories=1, clock="virtual")
        games.change(GateSettings(clock="real", training_interval=0.05, territories=1))
        begin, steps = time.monotonic(), 0
        while steps < 21:
            steps += games.next(trainer, None, 0) is not None
        assert time.monotonic() - begin >= 20 * 0.05 - 0.01
        assert games.decisions == 16, "a decision takes fifteen seconds here, too"

    def test_ungated_sends_whatever_can_be_paid(self):
        games, *_ = played(80, mode="ungated")
        stored = games.buffer.newest(80)
        assert (stored["was_executed"] == (stored["gate_components"][:, 3] == 1)).all()
        gated = played(80)[0].buffer.newest(80)
        assert (gated["was_executed"] == (gated["gate_signal"] > 1e-9)).all()


def test_train_save_and_go_on_to_the_bit(tmp_path):
    """Buffer, games, clock, generators, optimiser and the run's history: all of it is in the file."""
    ahead, half, after = whole_and_in_halves("territory", tmp_path, 130, seed=3)
    assert (half.algorithm, half.version, half.layers) == ("gate", 130, LAYERS["places"])
    GateNetwork.from_blob(half.weights)
    for key in ("agent_steps", "updates", "send_share", "gate_signal_last", "buffer_size", "exploration"):
        assert after.metrics[key] == ahead.metrics[key], key


def test_a_file_with_the_sources_network_goes_on_with_it(tmp_path):
    """Also one from before there was another, whose settings do not say which it is."""
    with Trainer("territory", gate={"network": "source", "territories": 2}) as trainer:
        trainer.train_for(updates=12, progress=False)
        path = trainer.save(tmp_path / "source.dshq")
    saved = checkpoint.load(path)
    assert saved.layers == LAYERS["source"]
    unsaid = {key: value for key, value in saved.algorithm_settings.items() if key != "network"}
    checkpoint.save(path, dataclasses.replace(saved, algorithm_settings=unsaid))
    with Trainer(path) as second:
        assert second.algorithm_settings["network"] == "source"
        second.train_for(updates=3, progress=False)
        assert second.latest_policy().version == 15 and second.latest_policy().layers == LAYERS["source"]
    with Trainer("territory", gate={"territories": 2}) as other:
        assert other.algorithm_settings["network"] == "places"
        other.load(path)
        assert other.algorithm_settings["network"] == "source" and other.version == 12
        assert np.array_equal(other.latest_policy().weights, saved.weights)
    with pytest.raises(CheckpointError, match="layers"):
        Trainer(path, gate={"network": "places"})
    assert main(["evaluate", str(path), "--matches", "4", "--json"]) == 0


def test_a_file_is_evaluated_through_its_gate(tmp_path, capsys):
    """What the gate blocks is not played: one that lets nothing pass earns what waiting earns."""
    with Trainer("territory", gate={"threshold": 1.0}) as trainer:
        trainer.train_for(updates=20, progress=False)
        path = str(trainer.save(tmp_path / "shut.dshq"))

    def evaluated(*how):
        assert main(["evaluate", path, "--matches", "40", "--json", *how]) == 0
        return json.loads(capsys.readouterr().out.splitlines()[-1])

    found = evaluated()
    drill = compiled("territory")
    waiting = evaluate_alone(drill, opponent("idle", drill), 200)
    assert abs(found["return_mean"] - waiting["return_mean"]) < 4 * waiting["return_std"] / np.sqrt(40)
    assert found["gate_signal_mean"] < -0.5 and found == evaluated() != evaluated("--seed", "3")
    assert main(["evaluate", path, "--search", "4,2"]) == 2
    assert "a policy of gate is more than a network" in capsys.readouterr().err


def test_it_learns_what_the_gate_says():
    with Trainer("territory", seed=1) as trainer:
        trainer.train_for(agent_steps=1000, progress=False)
        summary = trainer.summary
    assert summary["decisions"] >= 1000 and summary["training_steps"] > 750
    assert summary["gate_signal_mean"][1] > summary["gate_signal_untrained"] + 0.03
    assert all(0 < share < 1 for share in summary["send_share"])
    assert 0 < summary["send_share_untrained"] < summary["send_share"][1]


def test_settings_change_while_it_runs():
    with Trainer("territory", gate={"territories": 4}) as trainer:
        trainer.start()
        assert trainer.wait(updates=50, progress=False)
        trainer.set_hyper(**{"gate.threshold": -1.0})
        until(lambda: trainer.metrics["send_share"] > 0.95)
        assert trainer.algorithm_settings["threshold"] == -1
        trainer.set_hyper(gate={"threshold": 1.0})
        until(lambda: trainer.metrics["send_share"] < 0.05)


def test_settings_that_belong_together_change_together_while_it_runs(tmp_path):
    with Trainer("territory", gate={"territories": 4}, log_dir=tmp_path) as trainer:
        trainer.start()
        assert trainer.wait(updates=50, progress=False)
        warnings, seen = [], trainer.version
        trainer.on_warning(warnings.append)
        trainer.set_hyper(gate={"gate_weight": 0.5, "actual_weight": 0.5})
        until(lambda: trainer.version > seen + 300)
        said = set(warnings) - {NO_EVENTS}  # without that extra
        assert trainer.status == "training" and said == set(), "no learner died of it"
        trainer.stop()
        trainer.join()
    kept = checkpoint.load(tmp_path / AUTOSAVE_NAME).algorithm_settings
    assert (kept["gate_weight"], kept["actual_weight"], kept["territories"]) == (0.5, 0.5, 4)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"gate": {"threshhold": 0.5}}, "unknown setting 'threshhold' in section gate; did you mean 'threshold'"),
        ({"gate": {"threshold": 2}}, "gate.threshold must be a number from -1 to 1"),
        ({"gate": {"gate_weight": 0.9}}, "must add to 1"),
        ({"gate": 3}, "gate must be settings by name"),
        ({"hidden_sizes": (64, 64)}, "hidden_sizes cannot be set: the algorithm gate needs"),
    ],
)
def test_wrong_settings_are_a_sentence_and_change_nothing(given, sentence):
    with pytest.raises(ConfigError, match=sentence):
        Trainer("territory", **given)
    with Trainer("territory") as trainer:
        before = trainer.algorithm_settings, trainer.config
        with pytest.raises(ConfigError, match=sentence):
            trainer.set_hyper(**given)
        assert (trainer.algorithm_settings, trainer.config) == before


def test_other_drills_are_refused():
    with pytest.raises(ValueError, match="gate judges spawns of the drill territory, which has one side"):
        Trainer("ball", algorithm="gate")
    with pytest.raises(ValueError, match="'bandit' has no state 'worker_chunk': choose the drill territory"):
        Trainer("bandit", algorithm="gate")


def test_a_file_of_another_shape_is_a_sentence_and_nothing_is_lost(tmp_path):
    with Trainer("territory") as trainer:
        trainer.train_for(updates=20, progress=False)
        kept = trainer.latest_policy()
        saved = checkpoint.load(trainer.save(tmp_path / "gate.dshq"))
        network = PolicySpec((28, 8, 1201), "relu")
        other = dataclasses.replace(saved, layers=network.layers, weights=network.untrained(0), config={}, state={})
        checkpoint.save(tmp_path / "other.dshq", other)
        with pytest.raises((CheckpointError, ConfigError), match="layers|hidden_sizes"):
            trainer.load(tmp_path / "other.dshq")
        assert trainer.latest_policy() is kept
        untied = dataclasses.replace(saved, weights=saved.weights + np.float32(0.01), state={})
        checkpoint.save(tmp_path / "untied.dshq", untied)
    with Trainer(tmp_path / "untied.dshq") as trainer:
        with pytest.raises(RuntimeError, match="not those of a gate's policy"):
            trainer.train_for(updates=1, progress=False)
        assert trainer.version == 20, "it still plays"


def test_nan_in_an_observation_is_refused_before_it_is_stored():
    games, trainer, _, _ = played(4)
    games.territories.batch.tiles["queen_energy"][0, 0] = math.nan
    with pytest.raises(ValueError, match="finite"):
        games.decide(trainer)
    assert len(games.buffer) == 4


def test_a_file_with_other_reward_terms_is_continued():
    one, two = (Territories(compiled("territory"), 2, 0) for _ in range(2))
    state = one.state()
    state["train.running"] = np.column_stack([state["train.running"], np.ones(2)])
    two.restore(state)
    _, stats = two.step(np.zeros(2, np.int64))
    assert len(stats) == len(two.stats())


def test_sums_of_other_games_are_refused_before_a_game_is_taken_over():
    """The file was taken over, and its run ended with the first step, at each start."""
    one = Territories(compiled("territory"), 2, 0)
    running = one.state()["train.running"]
    for wrong in (np.concatenate([running] * 3), running[:, :1], running[0]):
        two = Territories(compiled("territory"), 2, 1)
        before = two.state()["train.tiles"]
        with pytest.raises(ValueError, match="is not that of 2 games"):
            two.restore(one.state() | {"train.running": wrong})
        assert np.array_equal(two.state()["train.tiles"], before)
    two.restore(one.state() | {"train.running": running.astype(np.uint8)})
    two.step(np.zeros(2, np.int64))


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("worker_chunk", 400, "workers must be chunks"),
        ("protector_chunk", -7, "protectors must be chunks"),
        ("player_energy", math.nan, "not finite"),
        ("queen_energy", math.inf, "finite"),
    ],
)
def test_games_that_no_gate_reads_are_refused_before_one_is_taken_over(field, value, why):
    """The run ended with its first decision, at each start."""
    one, two = (Territories(compiled("territory"), 2, seed) for seed in (0, 1))
    one.batch.tiles[field].reshape(-1)[:] = value
    before = two.state()["train.tiles"]
    with pytest.raises(ValueError, match=why):
        two.restore(one.state())
    assert np.array_equal(two.state()["train.tiles"], before)


def test_rewards_of_another_shape_are_no_runs():
    games, *_ = played(2)
    state = games.state() | {"train.gate.rewards": np.zeros((2, 2))}
    with pytest.raises(ValueError, match="train.gate.rewards, float64 of shape \\(2, 2\\), is not what a run saves"):
        saved_state.check(state, {}, 0, ALGORITHM.tensors)


def test_a_files_history_is_no_longer_than_a_runs():
    report = GateReport({})
    report.restore({"train.gate.history": np.ones((5 * MOST_BINS, 3), np.uint8), "train.gate.bin": np.array(2)})
    assert len(report.history.bins) == MOST_BINS


class TestResume:
    """What is stored is judged by the gate of now; what was paid otherwise is not learned from."""

    def test_other_rewards_empty_the_buffer(self):
        games, *_ = played(20)
        term = compiled("territory").spec.terms[0].name
        for weights, kept in (({term: 1.0}, 20), ({term: 0.25}, 0)):
            heard = []
            resumed, trainer = unplayed(weights=weights, warn=heard.append)
            resumed.restore(games.state())
            assert len(resumed.buffer) == kept and resumed.decisions == 20
            assert heard == [OTHER_WEIGHTS] * (not kept)
            resumed.decide(trainer)
            sent = resumed.buffer.newest(2)["was_executed"].sum()
            assert len(resumed.buffer) == kept + 2 and resumed.buffer.pending == sent

    def test_a_file_of_an_earlier_release_leaves_the_buffer_empty(self):
        games, *_ = played(20)
        heard = []
        resumed, _ = unplayed(warn=heard.append)
        resumed.restore({name: row for name, row in games.state().items() if name != NAME})
        assert len(resumed.buffer) == 0 and "does not say what its rewards were paid for" in heard[0]

    @pytest.mark.parametrize("clock", [(-(2.0**53), 2.0**53, 0), (2.0**53, 2.0**53, -1), (0.0, 1e9, 3)])
    def test_a_clock_that_no_run_has_leaves_no_run_waiting_for_ever(self, clock):
        """The next decision was 10^16 seconds away: a step of nothing followed another, and the run said *training*."""
        games, *_ = played(2)
        resumed, trainer = unplayed()
        resumed.restore(games.state() | {"train.gate.clock": np.array(clock)})
        before = resumed.decisions
        for _ in range(40):
            resumed.next(trainer, None, 0)
        assert resumed.decisions > before >= 0

    def test_other_settings_of_the_gate_judge_what_is_stored(self):
        games, *_ = played(20)
        resumed, _ = unplayed(threshold=0.1, survival_weight=0.9)
        resumed.restore(games.state())
        before, after = games.buffer.newest(20), resumed.buffer.newest(20)
        expected, signal = resumed.gate.judge(before["gate_components"])
        assert np.array_equal(after["R_expected"], expected) and np.array_equal(after["gate_signal"], signal)
        assert not np.array_equal(after["gate_signal"], before["gate_signal"])
        known = ~np.isnan(before["actual_reward"])
        assert known.any() and np.array_equal(after["actual_reward"][known], before["actual_reward"][known])


def test_without_a_gate_an_evaluation_sends_what_is_payable(monkeypatch):
    monkeypatch.setattr(evaluator, "sends", lambda signal: False)
    network = ContinuousTrainer(ExperienceBuffer(64), GateSettings(), seed=0).get_model_for_inference()[1]
    gate = SimulationGate(GateSettings(mode="ungated"))
    assert evaluator.play_gated(compiled("territory"), network, gate, 2).sent.sum() > 0
