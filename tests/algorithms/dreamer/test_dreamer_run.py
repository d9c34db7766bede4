"""Runs of algorithm dreamer: through the trainer, from and to files, and what it refuses."""

import dataclasses
import json
import os
import signal
import time

import numpy as np
import pytest
import torch

from dshq_widget.algorithms.dreamer import replay_file
from dshq_widget.algorithms.dreamer.model.tensors import LEFT, NEXT, continue_chance
from dshq_widget.cli import main
from dshq_widget.learning.saved import fingerprint
from dshq_widget.pixels.ring import UNKNOWN, ReplayRing
from dshq_widget.policy import checkpoint, loading
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.training.trainer import Trainer
from tests.harness.games.dreamers import SMALL
from tests.harness.processes.faults import until

pytestmark = pytest.mark.usefixtures("learners_in_threads")

HOW = {"algorithm": "dreamer", "deterministic": True, "evaluate_seconds": 3600}


def weights(saved: checkpoint.Checkpoint) -> dict[str, np.ndarray]:
    return {name: row for name, row in saved.state.items() if name.startswith("train.dreamer.agent.")}


@pytest.fixture(scope="module")
def bandit(tmp_path_factory):
    """The file of a short run on the drill bandit."""
    path = tmp_path_factory.mktemp("dreamer") / "half.dshq"
    with Trainer("bandit", seed=3, dreamer=SMALL, **HOW) as trainer:
        warnings = []
        trainer.on_warning(warnings.append)
        assert trainer.train_for(updates=6, progress=False)
        metrics = trainer.metrics
        trainer.save(path)
    assert not [text for text in warnings if "random play" in text]
    assert metrics["updates"] == 6 and metrics["agent_steps"] >= 128 + 6 * 8 - 16
    assert {"loss_world_model", "surprise", "imagined_return", "replay_ratio", "buffer_size"} <= set(metrics)
    assert 0 < metrics["replay_ratio"] <= 4
    return path


@pytest.mark.slow
def test_save_and_go_on_to_the_bit(bandit, tmp_path):
    """Ring, games, memory of the policy, generators, weights and moments: all of it is in the file."""
    with Trainer("bandit", seed=3, dreamer=SMALL, **HOW) as whole:
        whole.train_for(updates=10, progress=False)
        ahead = checkpoint.load(whole.save(tmp_path / "whole.dshq"))
    with Trainer(bandit) as second:
        assert (second.algorithm, second.version) == ("dreamer", 6)
        second.train_for(updates=4, progress=False)
        after = checkpoint.load(second.save(tmp_path / "after.dshq"))
    assert after.version == ahead.version == 10 and after.step == ahead.step
    assert set(after.state) == set(ahead.state)
    for name, row in ahead.state.items():
        assert np.array_equal(after.state[name], row), name
    assert not np.array_equal(
        weights(ahead)["train.dreamer.agent.actor.weights"],
        weights(checkpoint.load(bandit))["train.dreamer.agent.actor.weights"],
    )


def test_its_own_reward_weights_stand_below_those_of_the_run(tmp_path):
    own = {**SMALL, "reward_weights": {"right": 0.5}}
    for run, paid in (({}, 0.5), ({"reward_weights": {"right": 2.0}}, 2.0)):
        with Trainer("bandit", dreamer=own, **HOW, **run) as trainer:
            trainer.train_for(updates=1, progress=False)
            saved = checkpoint.load(trainer.save(tmp_path / "paid.dshq"))
        assert (fingerprint.unpacked(saved.state) or {})["reward weights"] == {"right": paid}
    wrong = {**SMALL, "reward_weights": {"rihgt": 1.0}}
    with (
        Trainer("bandit", dreamer=wrong, **HOW) as trainer,
        pytest.raises(RuntimeError, match="no reward term 'rihgt': it has right"),
    ):
        trainer.train_for(updates=1, progress=False)


@pytest.mark.slow
def test_pause_change_and_stop(tmp_path):
    with Trainer("bandit", dreamer=SMALL, log_dir=tmp_path, **HOW) as trainer:
        trainer.start()
        assert trainer.wait(updates=2, progress=False)
        trainer.set_hyper(dreamer={"entropy_coef": 0.01, "ratio": 8})
        trainer.pause_training()
        held = -1
        while held < trainer.version:  # an update that has begun ends
            held = trainer.version
            time.sleep(1.0)
        trainer.resume_training()
        assert trainer.wait(updates=held + 3, progress=False)
        trainer.stop()
        assert trainer.join(60) and trainer.status == "stopped" and trainer.error == ""
    saved = checkpoint.load(tmp_path / "autosave.dshq")
    assert saved.algorithm_settings["ratio"] == 8 and saved.version > held
    assert (tmp_path / "metrics.csv").exists()


@pytest.mark.processes
@pytest.mark.slow
def test_a_learner_that_dies_continues_from_the_last_file(tmp_path):
    with Trainer("bandit", dreamer=SMALL, log_dir=tmp_path, **HOW) as trainer:
        warnings, kept = [], tmp_path / "autosave.dshq"
        trainer.on_warning(warnings.append)
        trainer.start()
        until(lambda: kept.exists() and trainer.version > checkpoint.load(kept).version)
        saved = checkpoint.load(kept).version
        os.kill(trainer._run.control.processes.learner.pid, signal.SIGKILL)
        until(lambda: any(f"training is back at version {saved}: its learner ended" in text for text in warnings))
        until(lambda: any(f"restarted from version {saved}" in text for text in warnings))
        assert trainer.wait(updates=saved + 2, progress=False)


def test_no_stand_in_alone_is_saved_as_what_was_learned(tmp_path, monkeypatch):
    """No file that the learner wrote is there, and a file of the stand-in could not be opened again."""
    with Trainer("bandit", seed=3, dreamer=SMALL, **HOW) as trainer:
        trainer.save(tmp_path / "untrained.dshq")
        assert trainer.train_for(updates=2, progress=False)
        trainer.save(tmp_path / "bot.dshq")
        monkeypatch.setattr(trainer._run.files, "resume", None)
        with pytest.raises(CheckpointError, match="of version 2 there is no more than a stand-in, since there"):
            trainer.save(tmp_path / "lost.dshq")
    assert sorted(os.listdir(tmp_path)) == ["bot.dshq", "untrained.dshq"]


@pytest.mark.slow
def test_another_ring_is_filled_again(bandit):
    with Trainer(bandit, dreamer={"ring": 2048}) as trainer:
        warnings = []
        trainer.on_warning(warnings.append)
        trainer.train_for(updates=1, progress=False)
        assert trainer.version == 7 and any("it begins empty" in text for text in warnings)


class TestFiles:
    def test_a_file_plays_from_frames_as_its_actor_says(self, bandit, tmp_path, capsys):
        """One that always answers left is right whenever one that always answers right is not."""
        saved, means = checkpoint.load(bandit), []
        for answer in (0, 1):
            actor = np.zeros_like(saved.state["train.dreamer.agent.actor.weights"])
            actor[answer - 2] = 5.0  # the last layer's bias
            path = tmp_path / f"{answer}.dshq"
            stubborn = saved.state | {"train.dreamer.agent.actor.weights": actor}
            checkpoint.save(path, dataclasses.replace(saved, state=stubborn))
            assert main.main(["evaluate", str(path), "--matches", "16", "--greedy", "--json"]) == 0
            found = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
            assert found["episodes"] == 16 and found["episode_length_mean"] == 100
            means.append(found["return_mean"])
        assert sum(means) == pytest.approx(100) and means[0] != means[1]

    @pytest.mark.parametrize(
        ("command", "why"),
        [
            (("export", "--onnx", "a.onnx"), "its world model makes of frames"),
            (("export", "--html", "a.html"), "its world model makes of frames"),
            (("record", "--gif", "a.gif"), "is more than the network in its file"),
        ],
    )
    def test_its_stand_in_plays_nowhere_else(self, bandit, command, why, tmp_path, monkeypatch, capsys):
        monkeypatch.chdir(tmp_path)
        verb, *rest = command
        assert main.main([verb, str(bandit), *rest]) == 2
        assert why in capsys.readouterr().err
        with pytest.raises(CheckpointError, match="plays in `dshq train`, `dshq evaluate` and `dshq play` only"):
            loading.load_policy(bandit)

    @pytest.mark.parametrize(
        ("name", "row"),
        [
            ("train.dreamer.draws", np.zeros(3, np.uint64)),
            ("train.dreamer.counts", np.zeros(2)),
            ("train.dreamer.agent.actor.steps", np.array(-1)),
            ("train.dreamer.agent.actor.v", np.full(4, -1.0, np.float32)),
            ("train.dreamer.player.h", np.zeros(4, np.float32)),
            ("train.running", np.zeros(4)),
        ],
    )
    def test_what_no_run_saves_is_refused_when_it_is_loaded(self, bandit, name, row, tmp_path):
        """Else the run that was there before has made room for one that cannot begin."""
        saved = checkpoint.load(bandit)
        path = checkpoint.save(tmp_path / "odd.dshq", dataclasses.replace(saved, state=saved.state | {name: row}))
        with pytest.raises(CheckpointError, match=rf"its {name}, .*, is not what a run saves"):
            Trainer(path)

    def test_a_ring_comes_back_whole(self):
        ring = ReplayRing(16, 8)
        ring.obs.random_()
        ring.total = 21
        for row in ring.rows.values():
            row.random_(0, 2)
        state, other = replay_file.packed(ring), ReplayRing(16, 8)
        assert replay_file.unpack(state, other, 2) and other.total == 21 and (other.obs == ring.obs).all()
        assert all((row == other.rows[name]).all() for name, row in ring.rows.items())
        assert not replay_file.unpack(state, ReplayRing(17, 8), 2)
        assert not [name for name in state if name.endswith((".h", ".z"))]
        broken = state | {"train.dreamer.ring.shape": np.array([9, 16, 8])}
        with pytest.raises(ValueError, match="other frames than the 72 that it names"):
            replay_file.unpack(broken, other, 2)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("action", 2), ("action", -1), ("reward", np.nan), ("continues", 9), ("is_first", 2), ("episode_id", None)],
    )
    def test_a_ring_that_no_game_gives_is_refused_and_changes_nothing(self, name, value):
        """An action is an index: learning from it ended the learner at each start. Reward that is none stays."""
        ring, other = ReplayRing(16, 8), ReplayRing(16, 8)
        ring.obs.random_()
        ring.total = 12
        state = replay_file.packed(ring)
        key = replay_file.PREFIX + name
        state[key] = state[key][:3] if value is None else np.full((12, 8), value, type(value))
        with pytest.raises(ValueError, match=f"field '{name}' that no game gives"):
            replay_file.unpack(state, other, 2)
        for total in (-3, 2**62):
            with pytest.raises(ValueError, match="cannot have been given"):
                replay_file.unpack(state | {replay_file.PREFIX + "shape": np.array([total, 16, 8])}, other, 2)
        assert other.total == 0 and not other.obs.any()

    def test_what_no_run_saves_is_a_sentence(self, bandit, tmp_path):
        saved = checkpoint.load(bandit)
        path = tmp_path / "odd.dshq"
        for odd in ({"train.running": np.zeros((3, 3))}, {"train.dreamer.counts": np.zeros(9)}):
            checkpoint.save(path, dataclasses.replace(saved, state=saved.state | odd))
            with (
                pytest.raises((CheckpointError, RuntimeError), match="cannot continue|its run cannot be continued"),
                Trainer(path) as trainer,
            ):
                trainer.train_for(updates=1, progress=False)

    def test_a_generator_reads_no_more_words_than_it_has(self):
        """torch looks at each of two numbers alone: from the last word on it read memory behind them."""
        chance, again = torch.Generator().manual_seed(3), torch.Generator()
        for drawn in (0, 1, 300, 322, 1, 1):
            torch.rand(drawn, generator=chance)
            continue_chance(again, chance.get_state())
            assert torch.equal(again.get_state(), chance.get_state())
        broken = chance.get_state().numpy().copy()
        broken[LEFT].view(np.int32)[:], broken[NEXT].view(np.uint64)[:] = 624, 624
        with pytest.raises(ValueError, match="a generator has 624 words"):
            continue_chance(again, torch.from_numpy(broken))
        assert torch.equal(again.get_state(), chance.get_state())

    def test_a_memory_comes_back_whole_or_is_unknown(self):
        ring = ReplayRing(16, 8, memory=(4, 2))
        ring.remembered["h"].normal_()
        ring.remembered["z"].random_(0, 9)
        ring.total = 12
        state = replay_file.packed(ring)
        assert {state[replay_file.PREFIX + name].dtype for name in "hz"} == {np.dtype(np.uint8)}
        other = ReplayRing(16, 8, memory=(4, 2))
        assert replay_file.unpack(state, other, 2)
        assert all((row[:12] == other.remembered[name][:12]).all() for name, row in ring.remembered.items())
        for without in (ReplayRing(16, 8), ReplayRing(16, 8, memory=(4, 3))):
            without.total = 12
            assert replay_file.unpack(replay_file.packed(without), other, 2), "the frames are there all the same"
            assert (other.remembered["z"] == UNKNOWN).all()
        assert replay_file.unpack(state, ReplayRing(16, 8), 2)


@pytest.mark.parametrize(
    ("drill", "given", "sentence"),
    [
        ("snake", {}, "forbid actions"),
        ("bandit", {"dreamer": {"size": "gigantic"}}, "size must be one of"),
        ("bandit", {"hidden_sizes": (64, 64)}, "hidden_sizes cannot be set: the algorithm dreamer needs"),
        ("ball", {"opponents": {"pool": 1.0}}, "dreamer has no league"),
    ],
)
def test_what_it_cannot_do_is_a_sentence(drill, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        Trainer(drill, algorithm="dreamer", **given)


def test_an_environment_is_refused(capsys):
    assert main.main(["train", "gym:CartPole-v1", "--algorithm", "dreamer"]) == 2
    assert "dreamer draws frames of drills" in capsys.readouterr().err


@pytest.mark.slow
def test_two_sides_against_a_fixed_opponent(tmp_path, capsys):
    how = {**HOW, "evaluate_seconds": 0}
    with Trainer("ball", dreamer={**SMALL, "opponent": "chaser"}, **how) as trainer:
        trainer.train_for(updates=3, progress=False)
        assert {"win_rate_random", "win_share", "win_rate_ema"} <= set(trainer.metrics)
        path = trainer.save(tmp_path / "ball.dshq")
    assert main.main(["evaluate", str(path), "--matches", "8", "--against", "random", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert found["wins"] + found["draws"] + found["losses"] == 8


@pytest.mark.slow
def test_it_learns_from_frames_which_answer_is_right():
    """A lamp shines left or right. Random play is right half of the time."""
    how = {"batch": 8, "starts": 128, "horizon": 5, "discount_horizon": 5, "prefill": 2048, "learning_rate": 1e-3}
    how |= {"entropy_coef": 0.05}
    with Trainer("bandit", dreamer=how, **{**HOW, "evaluate_seconds": 20}) as trainer:
        trainer.train_for(updates=1500, until_solved=True, progress=False)
        assert trainer.metrics["evaluated_return"] > trainer.metrics["evaluated_return_random"] + 25
