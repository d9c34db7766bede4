"""Two runs do not write one file."""

import gc
import os
import subprocess
import sys
import threading

import pytest

from dshq_widget.cli import main
from dshq_widget.files.claims import Claim, ClaimError, claimed
from dshq_widget.training.sweep import sweep
from tests.harness.processes.stand import Standing

HOLD = "import sys; from pathlib import Path; from dshq_widget.files.claims import claimed\n" + (
    "with claimed(Path(sys.argv[1])): print('held', flush=True); input()"
)


@pytest.fixture
def other(tmp_path):
    """Another process that writes `bot.dshq`."""
    command = [sys.executable, "-c", HOLD, str(tmp_path / "bot.dshq")]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "held\n"
    yield child
    child.kill()
    child.communicate()


def test_a_second_run_into_one_file_says_so(other, tmp_path, capsys):
    assert main.main(["train", "bandit", "--updates", "1", "--out", str(tmp_path / "bot.dshq"), "--quiet"]) == 2
    assert "another run writes" in capsys.readouterr().err
    assert os.listdir(tmp_path) == [".bot.dshq.lock"]


def test_the_policy_may_be_the_log_folders_own_file(tmp_path, learners_in_threads, monkeypatch):
    """Then one run writes it twice, and is no other one to itself."""
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "autosave.dshq"
    run = ["train", "bandit", "--updates", "1", "--quiet", "--log-dir", ".", "--out", str(out)]
    with claimed(out):
        assert main.main(run) == 2
    assert main.main(run) == 0 and out.is_file()


def test_a_claim_ends_with_its_process_and_leaves_nothing(other, tmp_path):
    path = tmp_path / "bot.dshq"
    with pytest.raises(ClaimError, match="another run writes"), claimed(path):
        pass
    other.kill()
    other.wait()
    with claimed(path, path):
        assert os.listdir(tmp_path) == [".bot.dshq.lock"]
    assert os.listdir(tmp_path) == []


def test_a_claim_of_this_process_is_taken_over_once_it_is_idle(tmp_path):
    idle = False
    first = Claim(tmp_path / "bot.dshq", lambda: idle)
    with pytest.raises(ClaimError, match="stop it, or choose another place"):
        Claim(tmp_path / "bot.dshq")
    idle = True
    second = Claim(tmp_path / "bot.dshq")
    assert second.held and not first.held
    first.close()
    with pytest.raises(ClaimError):
        Claim(tmp_path / "bot.dshq")
    del second
    gc.collect()
    assert os.listdir(tmp_path) == []


def test_a_sweep_that_another_process_fills_says_so(tmp_path):
    with claimed(tmp_path / "sweep.json"), pytest.raises(ClaimError, match="another run writes"):
        sweep("bandit", {"gamma": [0.9, 0.99]}, directory=tmp_path, updates=1, seeds=1)


@pytest.mark.parametrize("begin", ["start", "next_update", "train_for", "load"])
def test_a_second_trainer_into_one_folder_says_so_when_it_begins(tmp_path, begin):
    with Standing("bandit", log_dir=tmp_path) as one, Standing("bandit", log_dir=tmp_path) as other:
        saved = other.save(tmp_path / "saved.dshq")
        more = {"load": [saved]}.get(begin, [])
        one.start()
        with pytest.raises(ClaimError, match="another run writes"):
            getattr(other, begin)(*more, **({"updates": 1} if begin == "train_for" else {}))
        assert other.status == "idle"
        one.stop()
        one.stands[-1].ends()
        if begin != "train_for":
            getattr(other, begin)(*more)  # the first one has ended, though nobody closed it
    assert [name for name in os.listdir(tmp_path) if name.endswith(".lock")] == []


def test_nobody_takes_a_folder_over_while_its_trainer_begins(tmp_path):
    with Standing("bandit", log_dir=tmp_path) as one, Standing("bandit", log_dir=tmp_path) as other:
        one.claim()
        said = []

        def take():
            try:
                other.claim()
            except ClaimError as error:
                said.append(str(error))

        asking = threading.Thread(target=take)
        with one._run.lock:  # as `start` does, before it has started anything
            asking.start()
            asking.join(0.5)
            one.start()
        asking.join()
        assert one._run.files._claim.held and "another run writes" in said[0]


@pytest.mark.parametrize("wrote", [False, True])
def test_a_trainer_whose_folder_was_taken_over_goes_on_from_no_file_that_the_other_wrote(tmp_path, wrote):
    (tmp_path / "log").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "log")  # as macOS's /tmp is one
    with Standing("bandit", log_dir=tmp_path / "link") as one:
        one.load(one.save(tmp_path / "link" / "saved.dshq"))
        assert one._run.files.to_resume() == str(tmp_path / "log" / "loaded.dshq")
        with Standing("bandit", log_dir=tmp_path / "link", seed=2) as other:
            other.claim()
            if wrote:
                other.load(other.save(tmp_path / "other.dshq"))
            assert (one._run.files.to_resume() is None) == wrote
        one.start()
        assert (one._run.files.to_resume() is None) == wrote


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path):
    (tmp_path / ".bot.dshq.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(ClaimError, match="no lock"), claimed(tmp_path / "bot.dshq"):
        pass
    assert not (tmp_path / "victim").exists()


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_a_trainer_does_not_write_where_nobody_can_tell_who_else_does(tmp_path, kind):
    """For want of a lock two runs would write over each other's policy."""
    make = {"link": lambda path: path.symlink_to(tmp_path), "folder": os.mkdir, "pipe": os.mkfifo}[kind]
    make(tmp_path / ".autosave.dshq.lock")
    with Standing("bandit", log_dir=tmp_path) as trainer:
        with pytest.raises(ClaimError, match="remove it if none does, or choose another place"):
            trainer.start()
        assert trainer.status == "idle"
    assert main.main(["train", "bandit", "--updates", "1", "--log-dir", str(tmp_path), "--quiet"]) == 2
