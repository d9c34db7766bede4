"""What the kernel does while a run starts, dies, stops and is saved; its learner is played by hand."""

import dataclasses
import logging
import signal
import sys
import threading
import time

import numpy as np
import pytest

from dshq_widget.env.batch import compiled
from dshq_widget.policy import checkpoint
from dshq_widget.policy.checkpoint import CheckpointError
from dshq_widget.training import keeping
from dshq_widget.training.goals import Budget, Goals, until_over, wait_for
from dshq_widget.training.history import Progress
from dshq_widget.training.run import state
from dshq_widget.training.status import TrainingStatus
from tests.harness.processes.faults import until
from tests.harness.processes.stand import KILLED, MOMENTS, Standing, beside, saved


@pytest.fixture
def trainer(tmp_path):
    with Standing("ball", hidden_sizes=(8,), log_dir=tmp_path / "log") as made:
        yield made


@pytest.fixture
def training(trainer):
    """A trainer that trains, and its learner."""
    trainer.start()
    (stand,) = trainer.stands
    stand.trains()
    stand.publishes(trainer, 4)
    return trainer, stand


@pytest.mark.parametrize(("budget", "left"), [({"seconds": 30}, 10), ({"updates": 30}, 30)])
def test_a_budget_holds_when_a_learner_that_waited_and_had_more_to_report_is_replaced(trainer, budget, left):
    training = beside(lambda: trainer.train_for(**budget, progress=False))
    until(lambda: trainer.stands)
    (first,) = trainer.stands
    first.trains()
    first.say("METRICS", values={"updates": 9, "version": 9, "agent_steps": 900, "seconds": 12.0}, spent=20.0)
    first.publishes(trainer, 11)
    first.ends(KILLED)
    until(lambda: len(trainer.stands) == 2)
    assert trainer.stands[1].job["limits"] == {next(iter(budget)): left}
    assert (trainer.stands[1].job["updates"], trainer.stands[1].job["seconds"]) == (11, 12.0)
    trainer.stands[1].ends()
    until(lambda: training)


def test_the_clock_goes_on_when_a_learner_is_replaced(trainer):
    training = beside(lambda: trainer.train_for(seconds=30, progress=False))
    until(lambda: trainer.stands)
    (first,) = trainer.stands
    assert first.job["seconds"] == 0 and first.job["limits"] == {"seconds": 30}
    first.trains(updates=9, agent_steps=900, seconds=12.0)
    first.publishes(trainer, 9)
    first.ends(KILLED)
    second = trainer.stands[1]
    assert (second.job["updates"], second.job["seconds"], second.job["limits"]) == (9, 12.0, {"seconds": 18.0})
    second.trains(updates=12, agent_steps=1200, seconds=20.0)
    second.publishes(trainer, 12)
    second.ends(KILLED)
    third = trainer.stands[2]
    assert third.job["limits"] == {"seconds": 10.0}
    trainer.stop()
    third.ends()
    until(lambda: training)
    assert training == [False]


def test_what_waits_for_the_next_start_waits_when_a_learner_is_replaced(trainer):
    trainer.start(learning_rate=0.01)
    (first,) = trainer.stands
    first.trains()
    first.publishes(trainer, 5)
    trainer.set_hyper(hidden_sizes=(16,), num_envs=128, learning_rate=0.02)
    trainer.pay_for("0.02 * abs(s.ball_vx[i])")
    first.ends(KILLED)
    second = trainer.stands[1]
    assert (second.config.hidden_sizes, second.config.num_envs) == ((8,), first.config.num_envs)
    assert second.config.learning_rate == 0.02 and second.drill is first.drill
    assert trainer.version == 5 and trainer.kept == () and trainer.config.hidden_sizes == (16,)
    second.trains()
    trainer.stop()
    second.ends()
    trainer.start()
    third = trainer.stands[2]
    assert (third.config.hidden_sizes, third.config.num_envs) == ((16,), 128)
    assert third.drill is trainer.drill is not first.drill
    assert trainer.version == 0 and [path.name for path in trainer.kept] == ["version-5.dshq"]


def learned(trainer, version, size):
    """A run of another network that learned up to that version, and was stopped."""
    trainer.start(hidden_sizes=(size,))
    stand = trainer.stands[-1]
    stand.trains(updates=version)
    stand.publishes(trainer, version)
    trainer.stop(seconds=0)
    stand.ends(KILLED)


def test_networks_that_learned_as_long_are_kept_beside_each_other(trainer):
    """The second one was written over the first one."""
    for size in (8, 16, 24, 32):
        learned(trainer, 5, size)
    assert [path.name for path in trainer.kept] == ["version-5.dshq", "version-5-2.dshq", "version-5-3.dshq"]
    assert [checkpoint.load(path).config["hidden_sizes"] for path in trainer.kept] == [[8], [16], [24]]


def test_networks_without_end_do_not_fill_the_disk(trainer, monkeypatch):
    monkeypatch.setattr(state, "MOST_KEPT", 2)
    for size in (8, 16, 24):
        learned(trainer, 5, size)
    trainer.start(hidden_sizes=(32,))
    assert trainer.status == "error" and "2 earlier runs" in trainer.error and "remove some" in trainer.error
    assert trainer.version == 5 and len(trainer.kept) == 2, "nothing is lost"
    trainer.start(hidden_sizes=(24,))
    assert trainer.status == "starting" and trainer.version == 5
    trainer.stop(seconds=0)
    trainer.stands[-1].ends(KILLED)
    trainer.kept[0].unlink()
    learned(trainer, 5, 32)
    monkeypatch.setattr(state, "MOST_KEPT_BYTES", 1)
    trainer.start(hidden_sizes=(40,))
    assert trainer.status == "error" and str(trainer.kept[1].parent) in trainer.error


def test_what_files_took_the_place_of_is_kept_beside_each_other(trainer, tmp_path, monkeypatch):
    """The second one was written over the first one, of which a person had read where it is."""
    other = trainer.save(tmp_path / "other.dshq")
    for version in (5, 6):
        learned(trainer, version, 8)
        trainer.load(other)
    kept = [tmp_path / "log" / name for name in ("replaced.dshq", "replaced-2.dshq")]
    assert [checkpoint.load(path).version for path in kept] == [5, 6] and str(kept[1]) in trainer.status_text
    monkeypatch.setattr(state, "MOST_KEPT", 2)
    learned(trainer, 7, 8)
    with pytest.raises(CheckpointError, match="2 earlier runs"):
        trainer.load(other)
    assert trainer.version == 7 and not (tmp_path / "log" / "arrived.dshq").exists()
    kept[0].unlink()
    for _ in range(3):
        trainer.load(other)  # nothing was learned since


@pytest.mark.parametrize("autosave", [3, None])
@pytest.mark.parametrize("by", ["another network", "a file"])
def test_the_newest_policy_is_kept_also_if_its_learner_did_not_save_it(trainer, tmp_path, autosave, by):
    other = trainer.save(tmp_path / "other.dshq")
    trainer.start()
    (stand,) = trainer.stands
    stand.trains(updates=7)
    if autosave:
        stand.publishes(trainer, autosave)
        stand.saves(trainer, stand.job["autosave"], **MOMENTS)
    stand.publishes(trainer, 7)
    trainer.stop(seconds=0)
    stand.ends(KILLED)
    if by == "a file":
        trainer.load(other)
        kept = checkpoint.load(tmp_path / "log" / "replaced.dshq")
        assert "the previous training is saved in" in trainer.status_text
    else:
        trainer.start(hidden_sizes=(16,))
        kept = checkpoint.load(trainer.kept[-1])
        assert trainer.kept[-1].name == "version-7.dshq"
    assert kept.version == 7 and (kept.weights == 7).all() and kept.metrics["updates"] == 7
    assert kept.config["hidden_sizes"] == [8] and trainer.version == 0


@pytest.mark.parametrize("by", ["another network", "a file"])
def test_a_whole_autosave_is_kept_with_its_optimiser(trainer, tmp_path, by):
    other = trainer.save(tmp_path / "other.dshq")
    trainer.start()
    (stand,) = trainer.stands
    stand.trains()
    stand.publishes(trainer, 7)
    trainer.stop()
    stand.saves(trainer, stand.job["autosave"], **MOMENTS)
    stand.ends()
    if by == "a file":
        trainer.load(other)
        trainer.load(other)
        kept = checkpoint.load(tmp_path / "log" / "replaced.dshq")
    else:
        trainer.start(hidden_sizes=(16,))
        kept = checkpoint.load(trainer.kept[-1])
    assert kept.version == 7 and "adam_step" in kept.state


@pytest.mark.parametrize("by", ["another network", "a file"])
def test_a_run_that_continues_behind_a_link_is_kept_too(tmp_path, by):
    """A home on a hub, or macOS's temporary folder: the file was taken for one that had been loaded, and written over
    by the next network.
    """
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with Standing("ball", hidden_sizes=(8,), log_dir=tmp_path / "link") as first:
        other = first.save(tmp_path / "other.dshq")
        saved(first, 7, **MOMENTS)
    with Standing(resume=tmp_path / "link" / "autosave.dshq", log_dir=tmp_path / "link") as trainer:
        name = "version-7.dshq" if by == "another network" else "replaced.dshq"
        if by == "a file":
            trainer.load(other)
        else:
            trainer.start(hidden_sizes=(16,))
        assert checkpoint.load(tmp_path / "real" / name).version == 7


def test_a_trainer_whose_folder_another_one_took_keeps_its_own_run(tmp_path):
    """Its files had its own weights with the optimiser and the champion of the other one."""
    with Standing("ball", hidden_sizes=(8,), log_dir=tmp_path / "log") as trainer:
        other = trainer.save(tmp_path / "other.dshq")
        saved(trainer, 7, **MOMENTS)
        with Standing("ball", hidden_sizes=(8,), log_dir=tmp_path / "log") as second:
            second.start()  # nothing is written yet
            assert checkpoint.load(trainer.save(tmp_path / "mine.dshq")).state["adam_step"] == 3
            second.stop()
            second.stands[-1].ends()
            saved(second, 7, adam_step=np.array(5, np.int64))
        mine = checkpoint.load(trainer.save(tmp_path / "mine.dshq"))
        assert mine.version == 7 and mine.state["adam_step"] == 3
        trainer.start()
        resumed = trainer.stands[-1].job["resume"]
        assert checkpoint.load(resumed).state["adam_step"] == 3
        trainer.stop()
        trainer.stands[-1].ends()
        with Standing("ball", hidden_sizes=(8,), log_dir=tmp_path / "log") as third:
            saved(third, 9)
        trainer.load(other)
        kept = checkpoint.load(tmp_path / "log" / "replaced.dshq")
        assert kept.version == 7 and kept.state["adam_step"] == 3


def test_training_for_more_while_the_next_run_waits_for_a_stop_says_so(trainer):
    """It waited until no learner ran. The next one begins at that moment, and trains without end."""
    trainer.start()
    trainer.stop()
    trainer.start()
    assert trainer.status == "stopping"
    ending = threading.Timer(0.2, trainer.stands[0].ends)
    ending.start()
    with pytest.raises(RuntimeError, match="training is running: call stop"):
        trainer.train_for(updates=1, progress=False)
    ending.join()
    assert trainer.status == "starting" and len(trainer.stands) == 2


def test_ctrl_c_while_a_run_is_stopped_comes_after_that(trainer, monkeypatch):
    """Between the status and the learner it left "stopping" for good: no stop or start did anything."""
    trainer.start()
    (stand,) = trainer.stands
    asked = trainer._run.files.autosave

    def interrupted():
        signal.raise_signal(signal.SIGINT)
        return asked()

    with monkeypatch.context() as patched:
        patched.setattr(trainer._run.files, "autosave", interrupted)
        with pytest.raises(KeyboardInterrupt):
            trainer.stop()
    assert trainer.status == "stopping" and stand.stopped
    stand.ends()
    assert trainer.status == "stopped"


@pytest.mark.parametrize("call", ["start", "next_update", "train_for"])
def test_ctrl_c_while_a_run_is_started_stops_it(trainer, monkeypatch, call):
    """The run was "starting" for good, with a learner that nobody knew: no start, stop or wait did anything."""
    begun = trainer._stand

    def interrupted(*given):
        signal.raise_signal(signal.SIGINT)
        return begun(*given)

    with monkeypatch.context() as patched:
        patched.setattr(trainer._run.starts, "brought", interrupted)
        with pytest.raises(KeyboardInterrupt):
            trainer.train_for(updates=3, progress=False) if call == "train_for" else getattr(trainer, call)()
    (stand,) = trainer.stands
    assert trainer.status == "stopping" and stand.stopped
    stand.ends()
    assert trainer.status == "stopped" and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    trainer.start()
    assert trainer.status == "starting" and len(trainer.stands) == 2


def test_where_it_cannot_be_kept_no_other_network_begins(training, monkeypatch):
    trainer, stand = training
    trainer.stop(seconds=0)
    stand.ends(KILLED)

    def refuse(*_):
        raise CheckpointError("cannot save: No space left on device")

    monkeypatch.setattr("dshq_widget.training.run.files.checkpoint.save", refuse)
    trainer.start(hidden_sizes=(16,))
    assert trainer.status == "error" and "No space left" in trainer.error and trainer.version == 4


def test_a_save_while_training_stops_is_the_whole_run(training, tmp_path):
    trainer, stand = training
    trainer.stop()
    saved = beside(lambda: trainer.save(tmp_path / "bot.dshq"))
    file = beside(trainer.run_file)
    time.sleep(0.1)
    assert saved == file == [], "its last file is not there yet"
    stand.saves(trainer, stand.job["autosave"], **MOMENTS)
    stand.ends()
    until(lambda: saved and file)
    assert "adam_step" in checkpoint.load(saved[0]).state and "adam_step" in checkpoint.decode(file[0]).state


def test_a_save_waits_no_longer_than_the_learner_may_take(training, tmp_path, monkeypatch):
    trainer, _ = training
    monkeypatch.setattr("dshq_widget.training.run.control.END_SECONDS", 0.05)
    trainer.stop(seconds=0.05)
    assert checkpoint.load(trainer.save(tmp_path / "bot.dshq")).version == 4


def asked_for(stand):
    return [message["path"] for message in stand.sent if message["type"] == "SAVE"]


def test_the_learners_file_takes_the_place_and_the_mode_of_the_old_one(training, tmp_path):
    trainer, stand = training
    target = checkpoint.save(tmp_path / "bot.dshq", checkpoint.parse(trainer.policy_file(), "old"))
    target.chmod(0o600)
    saved = beside(lambda: trainer.save(target))
    until(lambda: asked_for(stand))
    stand.saves(trainer, asked_for(stand)[0], **MOMENTS)
    until(lambda: saved)
    assert saved == [target] and "adam_step" in checkpoint.load(target).state
    assert target.stat().st_mode & 0o777 == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"bot.dshq", "log"}


def test_two_saves_to_one_path_are_two_files_of_the_learner(training, tmp_path):
    trainer, stand = training
    saved = [beside(lambda: trainer.save(tmp_path / "bot.dshq")) for _ in range(2)]
    until(lambda: len(asked_for(stand)) == 2)
    for path in asked_for(stand):
        stand.saves(trainer, path, **MOMENTS)
    until(lambda: all(saved))
    assert saved == [[tmp_path / "bot.dshq"]] * 2 and "adam_step" in checkpoint.load(tmp_path / "bot.dshq").state


def test_a_file_that_comes_too_late_is_removed(training, tmp_path, monkeypatch):
    trainer, stand = training
    monkeypatch.setattr(keeping, "STOP_SECONDS", 0.05)
    target = trainer.save(tmp_path / "bot.dshq")
    assert checkpoint.load(target).state == {}, "the newest policy alone"
    target.rename(tmp_path / "mine.dshq")
    stand.saves(trainer, asked_for(stand)[0], **MOMENTS)
    assert {path.name for path in tmp_path.iterdir()} == {"mine.dshq", "log"}
    stand.saves(trainer, stand.job["autosave"])
    assert trainer._run.files.resume == stand.job["autosave"]


def solved_orders(stand):
    return [message["type"] for message in stand.sent if message["type"] == "UNTIL_SOLVED"]


@pytest.mark.parametrize("paused", [False, True])
def test_a_run_that_goes_on_hears_that_it_is_to_end_when_it_is_solved(paused):
    with Standing("cartpole") as trainer:
        trainer.start()
        (stand,) = trainer.stands
        stand.trains()
        if paused:
            trainer.pause_training()
        trainer.start(until_solved=True)
        assert solved_orders(stand) == ["UNTIL_SOLVED"] and stand.job["until_solved"] is False
        trainer.pause_training()
        trainer.start()  # which only resumes
        stand.say("METRICS", values={"solved": 1, "updates": 3})
        stand.ends()
        assert trainer.status_text.startswith("solved at version")
        trainer.start()
        assert trainer.stands[1].job["until_solved"] is False, "another run is another matter"


@pytest.fixture
def spo_run(tmp_path):
    """The file of a run of SPO with settings of its own."""
    with Standing("ball", algorithm="spo", spo={"tau": 0.125}, learning_rate=0.02) as trainer:
        return trainer.save(tmp_path / "spo.dshq")


def test_a_run_goes_on_with_its_algorithms_own_settings(spo_run):
    with Standing("ball", algorithm="spo") as trainer:
        before = trainer.algorithm_settings
        trainer.resume_from(spo_run)
        assert trainer.algorithm_settings == {**before, "tau": 0.125} and trainer.config.learning_rate == 0.02
        trainer.start()
        assert trainer.stands[0].job["algorithm_settings"]["tau"] == 0.125


@pytest.mark.parametrize("wrong", [{"tau": 9.0}, {"nobody": 1}], ids=str)
def test_a_run_that_cannot_be_gone_on_with_changes_nothing(spo_run, tmp_path, wrong):
    saved = checkpoint.load(spo_run)
    path = checkpoint.save(tmp_path / "wrong.dshq", dataclasses.replace(saved, algorithm_settings=wrong))
    with Standing("ball", algorithm="spo", learning_rate=0.5) as trainer:
        before = trainer.config, trainer.algorithm_settings, trainer.latest_policy()
        with pytest.raises(CheckpointError, match="cannot continue from 'wrong.dshq'"):
            trainer.resume_from(path)
        assert (trainer.config, trainer.algorithm_settings, trainer.latest_policy()) == before


def test_what_changes_nothing_tells_nobody(trainer):
    """Two listeners that each stop training called each other without end."""
    called = []

    def stops():
        called.append(trainer.status)
        trainer.stop()

    for listener in (stops, lambda: stops()):
        trainer.on_change(listener)
    trainer.set_hyper(learning_rate=0.125)
    until(lambda: trainer._run.listeners._thread is None)
    assert 2 <= len(called) < 10
    trainer.close()
    trainer.close()
    until(lambda: trainer._run.listeners._thread is None)
    assert len(called) < 20


class Turning(threading.Condition):
    """Whenever nobody holds the lock a run has just ended and the next one begins; the fifth look sees the end."""

    def __init__(self, status):
        super().__init__()
        self.status, self.looks = status, 0

    def __enter__(self):
        held = super().__enter__()
        self.looks += 1
        self.status.metrics = {"updates": self.looks}
        self.status.set("stopped" if self.looks == 5 else "training", "so it is")
        return held

    def __exit__(self, *given):
        self.status.set("stopped", "between two runs")
        super().__exit__(*given)

    def wait(self, timeout=None):
        return True


def test_waiting_does_not_end_between_two_runs():
    changed = Turning(TrainingStatus("ball"))
    goals = Goals(compiled("ball").spec, None, 5, None, None)
    assert wait_for(goals, changed.status, changed, Progress(enabled=False)) is True
    changed = Turning(TrainingStatus("ball"))
    until_over(Budget(9, None, None), changed.status, changed, Progress(enabled=False), lambda: None)
    assert changed.looks == 5


def test_a_warning_has_a_line_of_its_own(capsys, monkeypatch):
    log = logging.getLogger("dshq_widget")
    monkeypatch.setattr(log, "handlers", [logging.StreamHandler(sys.stderr)])
    status = TrainingStatus("ball")
    status.set("training", "training on 1 thread")

    def warn() -> None:
        log.warning("the learner failed")
        status.warn("something is left out")
        status.set("stopped", "stopped")

    until_over(Budget(9, None, None), status, threading.Condition(), Progress(), warn)
    assert "\nthe learner failed\nball: something is left out\n" in capsys.readouterr().err
    assert not log.filters
