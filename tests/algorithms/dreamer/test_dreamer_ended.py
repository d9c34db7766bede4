"""Dreamer's policy is in its learner's files alone: after a learner that was ended by force, a version says what is
there, in the trainer and in each file.
"""

import json
import os
import shutil
import signal
import subprocess
import time

import numpy as np
import psutil
import pytest

from dshq_widget.algorithms.dreamer.learner import ACTING, WEIGHTS
from dshq_widget.algorithms.dreamer.saved import dreamer_of
from dshq_widget.cli.keeping import rescue
from dshq_widget.learning.run import Run
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.training import keeping
from dshq_widget.training.trainer import Trainer
from tests.harness.games.dreamers import SMALL
from tests.harness.processes.faults import PATIENCE, Started, until

HOW = {"algorithm": "dreamer", "deterministic": True, "evaluate_seconds": 3600, "dreamer": SMALL}
MODEL = f"{WEIGHTS}model.weights"
STEPS = f"{WEIGHTS}model.steps"


@pytest.fixture
def ended(tmp_path, learners_in_threads):
    """A trainer as a learner leaves it that ended after version 3, while its last file is of version 2. `gentle`: with
    a memory of what acts, as beside a page.
    """
    open_trainers = []

    def ended(gentle: bool) -> tuple[Trainer, list[str]]:
        trainer = Trainer("bandit", log_dir=tmp_path / "log", gentle=gentle, **HOW)
        open_trainers.append(trainer)
        warnings: list[str] = []
        trainer.on_warning(warnings.append)
        kept = tmp_path / "log" / "autosave.dshq"
        assert trainer.train_for(updates=2, progress=False)
        shutil.copy(kept, tmp_path / "second.dshq")
        assert trainer.train_for(updates=1, progress=False)
        shutil.copy(kept, tmp_path / "third.dshq")
        shutil.copy(tmp_path / "second.dshq", kept)
        assert trainer.version == 3
        return trainer, warnings

    yield ended
    for trainer in open_trainers:
        trainer.close()


def test_it_is_back_at_the_version_that_was_saved(ended, tmp_path):
    trainer, warnings = ended(gentle=False)
    second = checkpoint.load(tmp_path / "second.dshq")
    trainer._run.state.take_back()
    assert (trainer.version, trainer.latest_policy().step) == (2, second.step)
    assert {key: trainer.metrics[key] for key in ("version", "updates", "agent_steps")} == {
        "version": 2,
        "updates": 2,
        "agent_steps": second.step,
    }
    assert max(row["agent_steps"] for row in trainer._run.status.history.rows()) <= second.step
    assert warnings[-1] == ("training is back at version 2: its learner ended before it had saved version 3")
    saved = checkpoint.load(trainer.save(tmp_path / "kept.dshq"))
    assert (saved.version, saved.step, int(saved.state[STEPS])) == (2, second.step, 2)
    assert trainer.train_for(updates=1, progress=False)
    assert trainer.version == 3 and trainer.metrics["updates"] == 3


def test_what_acts_is_kept_where_it_is_known(ended, tmp_path):
    """A page plays by it, so it was published: the newest version stays, and the rest is as the file has it."""
    trainer, _ = ended(gentle=True)
    second, third = (checkpoint.load(tmp_path / name) for name in ("second.dshq", "third.dshq"))
    trainer._run.state.take_back()
    assert trainer.version == 3
    saved = checkpoint.load(trainer.save(tmp_path / "kept.dshq"))
    assert (saved.version, saved.step) == (3, third.step)
    acts = np.concatenate([third.state[f"{WEIGHTS}{part}.weights"] for part in ("model", "actor")])
    assert np.array_equal(saved.state[ACTING], acts)
    critic = f"{WEIGHTS}critic.weights"
    assert np.array_equal(saved.state[critic], second.state[critic])
    assert not saved.state[f"{WEIGHTS}model.m"].any() and int(saved.state[STEPS]) == 0, "fresh moments"
    assert np.array_equal(dreamer_of(saved, trainer.drill.spec.n_actions).acting(), acts)
    with Trainer(tmp_path / "kept.dshq") as again:
        assert again.train_for(updates=1, progress=False)
        on = checkpoint.load(again.save(tmp_path / "on.dshq"))
    assert on.version == 4 and ACTING not in on.state
    was, now, then = (each.state[MODEL] for each in (third, on, second))
    assert np.abs(now - was).max() < np.abs(now - then).max(), "it went on from version 3"
    assert trainer.train_for(updates=1, progress=False) and trainer.version == 4


def test_a_learner_that_saved_nothing_leaves_the_beginning(ended, tmp_path):
    trainer, warnings = ended(gentle=False)
    (tmp_path / "log" / "autosave.dshq").unlink()
    trainer._run.state.take_back()
    assert (trainer.version, trainer.metrics) == (0, {})
    assert warnings[-1].startswith("training is back at its beginning: of version 3 there is no more than a stand-in")


def test_dshq_train_says_what_is_lost(ended, tmp_path, monkeypatch):
    """It said that nothing was learned yet, behind the sentence about what there had been."""
    trainer, _ = ended(gentle=False)
    (tmp_path / "log" / "autosave.dshq").unlink()
    monkeypatch.setattr(trainer, "stop", lambda **_: trainer._run.state.take_back())
    lost = None, "version 3 is lost: its learner had written no file"
    assert rescue(trainer, tmp_path / "bot.dshq", first=0) == lost


@pytest.mark.parametrize("gentle", [False, True])
def test_a_disk_that_is_full_leaves_the_version_that_was_saved(ended, tmp_path, monkeypatch, gentle):
    """What acts stays in memory until the next start, and can be saved elsewhere."""
    trainer, warnings = ended(gentle=gentle)

    def full(*_: object) -> None:
        raise CheckpointError("no space left on device")

    why = "version 3 is in this process alone: no space left on device"
    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "save", full)
        trainer._run.state.take_back()
        assert trainer.version == (3 if gentle else 2)
        assert (why in warnings) == gentle
        if gentle:  # the next learner would replace what acts
            with pytest.raises(RuntimeError, match=f"training cannot start: {why}"):
                trainer.train_for(updates=1, progress=False)
            assert trainer.version == 3
    kept = checkpoint.load(trainer.save(tmp_path / "kept.dshq"))
    assert kept.version == trainer.version and (ACTING in kept.state) == gentle
    version = trainer.version
    assert trainer.train_for(updates=1, progress=False)
    assert trainer.version == version + 1
    if gentle:
        on = checkpoint.load(trainer.save(tmp_path / "on.dshq")).state[MODEL]
        was, then = (checkpoint.load(tmp_path / name).state[MODEL] for name in ("third.dshq", "second.dshq"))
        assert np.abs(on - was).max() < np.abs(on - then).max()


@pytest.mark.parametrize(
    ("room", "without"), [(10_000, "its games and its replay"), (-2_000_000, "all but what plays")]
)
def test_what_is_left_goes_into_a_file_that_has_no_room_for_all_of_it(ended, tmp_path, monkeypatch, room, without):
    """With a large model the rest of the version before, and what acts now, are more than a file holds: no start, save
    or load was possible any more.
    """
    trainer, warnings = ended(gentle=True)
    second, third = (checkpoint.load(tmp_path / name) for name in ("second.dshq", "third.dshq"))
    acts = trainer._run.latest.acting()[1].nbytes
    agent = sum(row.nbytes for name, row in second.state.items() if name.startswith(WEIGHTS))
    monkeypatch.setattr(checkpoint, "MOST_TENSOR_BYTES", agent + acts + room)
    trainer._run.state.take_back()
    assert any(warning.startswith(f"version 3 is kept without {without}: ") for warning in warnings)
    saved = checkpoint.load(trainer.save(tmp_path / "kept.dshq"))
    assert (
        saved.version == 3 and (MODEL in saved.state) == (room > 0) and not any("ring" in name for name in saved.state)
    )
    monkeypatch.undo()
    assert trainer.train_for(updates=1, progress=False) and trainer.version == 4
    on = checkpoint.load(trainer.save(tmp_path / "on.dshq")).state[MODEL]
    assert np.abs(on - third.state[MODEL]).max() < 0.01


@pytest.mark.parametrize("gentle", [False, True])
def test_a_file_that_cannot_be_read_is_not_written_over(ended, tmp_path, gentle):
    """Everybody was told that training is back at its beginning, and no start was possible; or what acts took the
    place of critic, moments and replay.
    """
    trainer, warnings = ended(gentle)
    kept = tmp_path / "log" / "autosave.dshq"
    kept.write_bytes(b"no policy")
    trainer._run.state.take_back()
    assert warnings[-1].startswith("the run's file cannot be read: 'autosave.dshq' is not a usable policy file")
    with pytest.raises(RuntimeError, match="training cannot start: the run's file cannot be read"):
        trainer.train_for(updates=1, progress=False)
    assert trainer.version == 3 and kept.read_bytes() == b"no policy"
    shutil.copy(tmp_path / "second.dshq", kept)
    assert trainer.train_for(updates=1, progress=False) and trainer.version == (4 if gentle else 3)


def test_a_learner_makes_its_folder_again_where_somebody_cleans_the_temporary_one(monkeypatch, learners_in_threads):
    """It ended by itself, with a warning, and training was back at its beginning."""
    save = Run.autosave

    def cleaned(run):
        shutil.rmtree(os.path.dirname(run.job["autosave"]))
        save(run)

    monkeypatch.setattr(Run, "autosave", cleaned)
    with Trainer("bandit", **HOW) as trainer:
        folder = trainer._run.files.autosave().parent
        assert trainer.train_for(updates=2, progress=False) and trainer.version == 2
        assert checkpoint.version_of(trainer._run.files.to_resume()) == 2
        assert os.name != "posix" or folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()


def test_ctrl_c_while_a_trainer_closes_leaves_what_can_be_saved(tmp_path, monkeypatch, learners_in_threads):
    """It ended the waiting. The learner wrote a version more, which nobody heard of: "there is no file"."""
    with Trainer("bandit", log_dir=tmp_path / "log", **HOW) as trainer:
        trainer.start()
        trainer.wait(updates=2, progress=False)
        stop = trainer._run.control.stop

        def interrupted(*given):
            stop(*given)
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(trainer._run.control, "stop", interrupted)
        with pytest.raises(KeyboardInterrupt):
            trainer.close()
        saved = checkpoint.load(trainer.save(tmp_path / "kept.dshq"))
        assert saved.version == trainer.version == checkpoint.version_of(tmp_path / "log" / "autosave.dshq")


def test_a_file_on_which_somebody_else_went_on_is_not_continued_from(tmp_path, learners_in_threads):
    """The model of six updates was then called version 2."""
    with Trainer("bandit", **HOW) as trainer:
        assert trainer.train_for(updates=2, progress=False)
        path = trainer.save(tmp_path / "bot.dshq")
    with Trainer(path) as trainer, Trainer(path) as other:
        assert other.train_for(updates=2, progress=False)
        other.save(path)
        assert trainer.train_for(updates=1, progress=False)
        saved = checkpoint.load(trainer.save(tmp_path / "mine.dshq"))
        assert saved.version == int(saved.state[STEPS]) == 1


@pytest.mark.parametrize("gentle", [False, True])
def test_no_memory_for_what_is_left_leaves_no_run_that_is_stopping(ended, monkeypatch, gentle):
    """Its status was "stopping" for good, and `join` never returned."""
    trainer, warnings = ended(gentle=gentle)

    def none(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(checkpoint, "load", none)
        trainer._run.state.take_back()
        assert warnings[-1] == "version 3 may be in this process alone: MemoryError"
        with pytest.raises(RuntimeError, match="training cannot start: MemoryError"):
            trainer.train_for(updates=1, progress=False)
    assert trainer.train_for(updates=1, progress=False)


def test_the_learner_of_a_run_that_has_its_file_reads_nothing_more(tmp_path, learners_in_threads, monkeypatch):
    """A quarter of a gigabyte, in the kernel, whenever somebody pressed Stop."""
    with Trainer("bandit", log_dir=tmp_path / "log", **HOW) as trainer:
        assert trainer.train_for(updates=2, progress=False)
        monkeypatch.setattr(checkpoint, "load", None)
        trainer._run.state.put_down()
        assert trainer.holds(tmp_path / "log" / "autosave.dshq")
        assert checkpoint.version_of(tmp_path / "log" / "autosave.dshq") == trainer.version == 2
    for content in (b"", b"PK", b"x" * 100, (50).to_bytes(8, "little") + b"{}" * 25, (2).to_bytes(8, "little") + b"{}"):
        (tmp_path / "no.dshq").write_bytes(content)
        assert checkpoint.version_of(tmp_path / "no.dshq") is None
    assert checkpoint.version_of(tmp_path) is None


def test_where_there_is_no_place_for_a_file_the_learner_is_not_blamed(ended, tmp_path):
    """It was said to have been too slow, or a file to have a version that was not there."""
    trainer, warnings = ended(gentle=False)
    trainer.start()
    until(lambda: trainer.version > 3)
    before = len(warnings)
    with pytest.raises(CheckpointError, match="cannot save .*nowhere.*: No such file or directory"):
        trainer.save(tmp_path / "nowhere" / "bot.dshq")
    assert not any("has version" in warning for warning in warnings[before:])
    trainer.stop()
    trainer.join()


def test_a_save_without_a_learner_says_what_is_gone(ended, tmp_path):
    trainer, warnings = ended(gentle=False)
    path = trainer.save(tmp_path / "kept.dshq")
    assert warnings[-1] == f"{path} has version 2: of version 3 there is no more than a stand-in"


def test_a_temporary_folder_that_somebody_cleans_is_made_again(tmp_path, learners_in_threads):
    """No start was possible any more, or each training was thrown away at its end."""
    with Trainer("bandit", gentle=True, **HOW) as trainer:
        assert trainer.train_for(updates=2, progress=False)
        shutil.rmtree(trainer._run.files.autosave().parent)
        assert trainer.train_for(updates=1, progress=False) and trainer.version == 3
        assert checkpoint.load(trainer.save(tmp_path / "kept.dshq")).version == 3
        trainer.load(tmp_path / "kept.dshq")


@pytest.mark.parametrize("kept", [False, True])
def test_a_policy_that_was_loaded_is_there_after_close_wherever_its_file_was(tmp_path, learners_in_threads, kept):
    """The folder of a run that has only loaded a file goes with it, on a hub, too."""
    with Trainer("bandit", **HOW) as trainer:
        assert trainer.train_for(updates=2, progress=False)
        path = trainer.save(tmp_path / "bot.dshq")
    with Trainer("bandit", keep_in=tmp_path / "runs" if kept else None, **HOW) as trainer:
        trainer.load(path)
    saved = checkpoint.load(trainer.save(tmp_path / "again.dshq"))
    assert saved.version == 2 and np.array_equal(saved.state[MODEL], checkpoint.load(path).state[MODEL])


def test_a_file_that_somebody_removes_is_written_again_where_what_acts_is_known(ended, tmp_path):
    """The next learner began with another model, went on counting, and what acted was gone."""
    trainer, warnings = ended(gentle=True)
    third = checkpoint.load(tmp_path / "third.dshq")
    (tmp_path / "log" / "autosave.dshq").unlink()
    assert trainer.train_for(updates=1, progress=False) and trainer.version == 4
    assert not any("from scratch" in warning for warning in warnings)
    on = checkpoint.load(trainer.save(tmp_path / "on.dshq")).state[MODEL]
    assert np.abs(on - third.state[MODEL]).max() < 0.01


def test_a_trainer_whose_folder_another_one_took_saves_its_own_policy(ended, tmp_path):
    """It was the other's, under its own name, where that was of the same version without a word."""
    trainer, _ = ended(gentle=False)
    mine = checkpoint.load(trainer.save(tmp_path / "before.dshq"))
    with Trainer("bandit", log_dir=tmp_path / "log", **HOW | {"seed": 8}) as other:
        assert other.train_for(updates=1, progress=False)
    saved = checkpoint.load(trainer.save(tmp_path / "mine.dshq"))
    assert (saved.version, saved.step) == (mine.version, mine.step)
    assert np.array_equal(saved.state[MODEL], mine.state[MODEL])
    assert trainer.train_for(updates=1, progress=False)
    on = checkpoint.load(trainer.save(tmp_path / "on.dshq"))
    assert on.version == mine.version + 1 and int(on.state[STEPS]) == int(mine.state[STEPS]) + 1


def test_a_save_that_the_learner_does_not_write_in_time_says_what_it_has(ended, tmp_path, monkeypatch):
    trainer, warnings = ended(gentle=False)
    monkeypatch.setattr(keeping, "STOP_SECONDS", 0.0)
    trainer.start()
    until(lambda: trainer.version > 3)
    saved = checkpoint.load(trainer.save(tmp_path / "live.dshq"))
    trainer.stop()
    assert trainer.join(PATIENCE)
    assert saved.version == int(saved.state[STEPS]), warnings


def test_updates_without_a_new_step_are_saved(tmp_path, learners_in_threads):
    """Several updates are made of what is in the ring: no agent step is new."""
    how = {**HOW, "dreamer": {**SMALL, "ratio": 64}}
    with Trainer("bandit", **how) as trainer:
        assert trainer.train_for(updates=5, progress=False)
        path = trainer.save(tmp_path / "bot.dshq")
    for version in (6, 7, 8):
        before = checkpoint.load(path)
        with Trainer(path) as again:
            assert again.train_for(updates=1, progress=False)
            saved = checkpoint.load(again.save(path))
        assert saved.version == int(saved.state[STEPS]) == version
        assert not np.array_equal(saved.state[MODEL], before.state[MODEL])


def test_what_a_closed_trainer_has_learned_can_be_saved(tmp_path, learners_in_threads):
    """Its temporary folder is gone by then."""
    with Trainer("bandit", **HOW) as trainer:
        assert trainer.train_for(updates=2, progress=False)
        before = checkpoint.load(trainer.save(tmp_path / "before.dshq"))
    saved = checkpoint.load(trainer.save(tmp_path / "bot.dshq"))
    assert saved.version == 2 and saved.state.keys() == before.state.keys()
    assert np.array_equal(saved.state[MODEL], before.state[MODEL])


def test_what_does_not_fit_into_its_place_goes_to_a_temporary_one(tmp_path, monkeypatch, learners_in_threads):
    """The last save fails, as on a full disk. Nothing else has what was learned."""
    kept, real = tmp_path / "log" / "autosave.dshq", checkpoint.save

    def full(path, saved):
        if str(path) == str(kept):
            raise CheckpointError(f"cannot save {str(path)!r}: No space left on device")
        return real(path, saved)

    with Trainer("bandit", log_dir=tmp_path / "log", **HOW) as trainer:
        assert trainer.train_for(updates=2, progress=False)
        monkeypatch.setattr(checkpoint, "save", full)
        assert trainer.train_for(updates=2, progress=False)
        assert trainer.version == 4 and checkpoint.load(kept).version == 2
        monkeypatch.setattr(checkpoint, "save", real)
        saved = checkpoint.load(trainer.save(tmp_path / "bot.dshq"))
        assert saved.version == int(saved.state[STEPS]) == 4
        trainer.set_hyper(dreamer={"size": "spots"})
        assert trainer.train_for(updates=1, progress=False)
        assert checkpoint.load(trainer.kept[0]).version == 4 and checkpoint.load(kept).version == 1


class TestSize:
    """Another size is another network, though the stand-in's is the same."""

    def test_a_run_with_another_size_begins_anew_and_keeps_what_was_learned(self, tmp_path, learners_in_threads):
        with Trainer("bandit", log_dir=tmp_path / "log", **HOW) as trainer:
            assert trainer.train_for(updates=2, progress=False)
            trainer.set_hyper(dreamer={"size": "spots"})
            saved = checkpoint.load(trainer.save(tmp_path / "waiting.dshq"))
            assert (saved.version, saved.algorithm_settings["size"]) == (2, "pico")
            assert trainer.algorithm_settings["size"] == "spots"
            assert trainer.train_for(updates=1, progress=False)
            assert trainer.version == 1
            assert checkpoint.load(trainer.kept[0]).algorithm_settings["size"] == "pico"
            grown = checkpoint.load(trainer.save(tmp_path / "grown.dshq"))
        with Trainer(tmp_path / "waiting.dshq") as again:
            assert again.algorithm_settings["size"] == "pico"
            assert again.train_for(updates=1, progress=False)
            again.load(tmp_path / "grown.dshq")
            assert again.algorithm_settings["size"] == "spots" and again.version == 1
            assert again.train_for(updates=1, progress=False)
            after = checkpoint.load(again.save(tmp_path / "after.dshq"))
        assert after.version == 2 and len(after.state[MODEL]) == len(grown.state[MODEL])

    def test_a_learner_that_takes_the_place_of_one_that_died_keeps_the_size(self, tmp_path, learners_in_threads):
        """Its file said the size that waits for the next start, and could not be opened."""
        with Trainer("bandit", log_dir=tmp_path / "log", **HOW) as trainer:
            assert trainer.train_for(updates=2, progress=False)
            trainer.set_hyper(dreamer={"size": "spots"})
            (tmp_path / "log" / "autosave.dshq").unlink()
            trainer._run.state.take_back()  # as after a learner that wrote none
            assert trainer.version == 0
            saved = checkpoint.load(trainer.save(tmp_path / "saved.dshq"))
            assert saved.algorithm_settings["size"] == "pico"

    def test_a_file_of_another_size_is_refused_where_it_is_opened(self, tmp_path, learners_in_threads):
        with Trainer("bandit", **HOW) as trainer:
            assert trainer.train_for(updates=1, progress=False)
            path = trainer.save(tmp_path / "bot.dshq")
        with pytest.raises(CheckpointError, match=r"trained with dreamer.size 'pico', and here it is 'nano'"):
            Trainer(path, dreamer={"size": "nano"})


ARGUMENTS = ["bandit", "--algorithm", "dreamer", "--seconds", "600", "--autosave-seconds", "3600", "--json"]
ARGUMENTS += [part for key, value in SMALL.items() for part in (f"--dreamer-{key}", str(value))]


@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True], ids=["once", "twice"])
def test_ctrl_c_waits_for_what_only_the_learner_can_save(tmp_path, again):
    """Its learner stands still when Ctrl-C comes. It goes on after two seconds, or Ctrl-C comes again."""
    out = tmp_path / "bot.dshq"
    with Started("-m", "dshq_widget.cli", "train", *ARGUMENTS, "--out", str(out), stderr=subprocess.PIPE) as started:
        until(out.exists, "the first file")
        first = checkpoint.load(out).version
        time.sleep(2.0)
        learner = max(psutil.Process(started.process.pid).children(recursive=True), key=lambda each: each.num_threads())
        learner.suspend()
        os.kill(started.process.pid, signal.SIGINT)
        time.sleep(2.0)
        os.kill(started.process.pid, signal.SIGINT) if again else learner.resume()
        said_json, said = started.process.communicate(timeout=PATIENCE)
    assert started.process.returncode == 130
    assert "saving, for up to 8 s; Ctrl-C again ends it at once" in said
    saved = checkpoint.load(out)
    assert saved.version == int(saved.state[STEPS]) == json.loads(said_json)["saved"]["version"]
    assert f"stopped by Ctrl-C; version {saved.version} is kept in {out}" in said
    assert (saved.version == first) == again
    assert ("its learner ended before it had saved version" in said) == again


PLAYED = """
import json, os, signal, sys, threading, time
import psutil
from dshq_widget.cli import keeping, play
from dshq_widget.cli.main import main

keeping.MODEL_SECONDS = 3600.0
serve = play.serve

def ends(widget):
    assert widget._trainer.wait(updates=2, progress=False)
    learner = max(psutil.Process().children(recursive=True), key=lambda each: each.num_threads())
    learner.suspend()
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(4.0)

def served(widget, port):
    widget._trainer.start(dreamer=json.loads(sys.argv[1]))
    threading.Thread(target=ends, args=(widget,), daemon=True).start()
    return serve(widget, port)

play.serve = served
sys.exit(main(["play", "bandit", "--algorithm", "dreamer", "--no-browser"]))
"""


@pytest.mark.slow
def test_ctrl_c_again_ends_dshq_play_as_it_says():
    """It stood still for as long as its learner: the signals came to somebody who only waits for the first."""
    with Started("-c", PLAYED, json.dumps(SMALL), stderr=subprocess.PIPE) as started:
        _, said = started.process.communicate(timeout=PATIENCE)
    assert "Ctrl-C again ends it at once" in said and "is kept in" in said
    assert started.process.returncode == 0
