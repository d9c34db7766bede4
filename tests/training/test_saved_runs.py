"""Runs that outlive their kernel: which may be continued with, and which are left alone."""

import dataclasses
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dshq_widget.drills.bandit import Bandit
from dshq_widget.env.batch import compiled
from dshq_widget.policy import checkpoint
from dshq_widget.system import locks
from dshq_widget.training import saved_runs
from dshq_widget.training.run import files
from dshq_widget.training.saved_runs import AUTOSAVE, KEPT, Run, earlier
from dshq_widget.training.trainer import Trainer
from dshq_widget.widget.quota import Quota, Rules

pytestmark = pytest.mark.usefixtures("learners_in_threads")

RULES = compiled("bandit").rules_hash


def save(run: Path, version: int, at: float, **changes) -> None:
    """An autosave of that version, written `at` seconds since 1970."""
    with Trainer(Bandit) as trainer:
        plain = checkpoint.parse(trainer.policy_file(), "plain")
    changes = {"version": version, "step": 1000 * version, **changes}
    checkpoint.save(str(run / AUTOSAVE), dataclasses.replace(plain, **changes))
    os.utime(run / AUTOSAVE, (at, at))


def found(root: Path) -> int | None:
    run = earlier(root, "bandit", RULES, "ppo")
    return run.version if run else None


def test_the_newest_run_whose_owner_is_gone(tmp_path: Path):
    assert found(tmp_path) is None
    first, second, third = (Run(tmp_path, "bandit") for _ in range(3))
    for version, run in enumerate((first, second, third), 1):
        save(run.path, version, 1000.0 * version)
    assert found(tmp_path) is None, "all of them are being trained"
    first.close()
    assert found(tmp_path) == 1
    third.close()
    assert found(tmp_path) == 3
    assert earlier(tmp_path, "bandit", RULES, "ppo").saved_at == 3000
    for other in (("cartpole", RULES, "ppo"), ("bandit", "other rules", "ppo"), ("bandit", RULES, "spo")):
        assert earlier(tmp_path, *other) is None
    second.close()


def test_a_newer_run_of_other_rules_is_passed_over_and_told(tmp_path: Path, caplog):
    """After an update nothing was offered, without a word."""
    runs = [Run(tmp_path, "bandit") for _ in range(4)]
    for at, (run, rules, algorithm) in enumerate(
        zip(runs, (RULES, "0" * 16, "1" * 16, "0" * 16), ("ppo", "ppo", "ppo", "spo"), strict=True), 1
    ):
        save(run.path, at, 1000.0 * at, rules_hash=rules, algorithm=algorithm)
        run.close()
    assert found(tmp_path) == 1
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith(f"your run of bandit in {runs[2].path / AUTOSAVE} had other rules")
    caplog.clear()
    last = Run(tmp_path, "bandit")
    save(last.path, 9, 9000.0)
    last.close()
    assert found(tmp_path) == 9 and not caplog.records, "it is the newest"


def test_what_cannot_be_gone_on_with_is_passed_over(tmp_path: Path):
    for at, version, spoil in ((1000, 7, False), (2000, 0, False), (3000, 9, True)):
        run = Run(tmp_path, "bandit")
        save(run.path, version, at)
        if spoil:
            (run.path / AUTOSAVE).write_bytes(b"half a file")
        run.close()
    run = Run(tmp_path, "bandit")
    save(run.path, 1, 4000, step=0)  # untrained weights that rollout processes waited for
    run.close()
    assert found(tmp_path) == 7


def test_what_cannot_be_read_keeps_nobody_from_the_rest(tmp_path: Path, monkeypatch):
    """Another user's folder in a shared one, and a disk that fails: who reads it is told so."""
    run, foreign = Run(tmp_path, "bandit"), Run(tmp_path, "bandit")
    save(run.path, 4, 1000.0)
    save(foreign.path, 9, 2000.0)
    for each in (run, foreign):
        each.close()
    stat, iterdir = Path.stat, Path.iterdir

    def refuse(path, *given, **named):
        if foreign.path in (path, *path.parents):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "stat", refuse)
        assert found(tmp_path) == 4
        Run(tmp_path, "bandit").close()
        rules = Rules(runs=tmp_path)
        with Trainer(Bandit) as trainer:
            assert Quota(trainer, rules, print).trait()["earlier"]["version"] == 4

    def fail(path):
        raise OSError(errno.EIO, "Input/output error", str(path))

    for broken in (fail, lambda path: fail(path) if path.name == "bandit" else iterdir(path)):
        with monkeypatch.context() as patch, Trainer(Bandit) as trainer:
            patch.setattr(Path, "iterdir", broken)
            assert found(tmp_path) is None and Quota(trainer, rules, print).trait()["earlier"] is None
    with monkeypatch.context() as patch, Trainer(Bandit) as trainer:
        patch.setattr(saved_runs, "earlier", lambda root, *_: fail(root))
        assert Quota(trainer, rules, print).trait()["earlier"] is None


def test_few_are_kept_and_none_that_saved_nothing(tmp_path: Path):
    Run(tmp_path, "bandit").close()
    assert list(saved_runs.folder_of(tmp_path, "bandit").iterdir()) == []
    living = Run(tmp_path, "bandit")
    for version in range(1, KEPT + 4):
        run = Run(tmp_path, "bandit")
        save(run.path, version, 1000.0 * version)
        run.close()
    last = Run(tmp_path, "bandit")
    kept = sorted(p.stat().st_mtime for p in saved_runs.folder_of(tmp_path, "bandit").glob(f"*/{AUTOSAVE}"))
    assert kept == [1000.0 * version for version in range(4, KEPT + 4)]
    assert living.path.is_dir() and last.path.is_dir()
    living.close()
    last.close()


def test_a_killed_process_leaves_its_run(tmp_path: Path):
    script = "import sys, time; from pathlib import Path; from dshq_widget.training.saved_runs import Run\n"
    script += "run = Run(Path(sys.argv[1]), 'bandit'); print(run.path, flush=True); time.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", script, tmp_path], stdout=subprocess.PIPE, text=True) as process:
        try:
            save(Path(process.stdout.readline().strip()), 4, 1000.0)
            assert found(tmp_path) is None
        finally:
            process.send_signal(signal.SIGKILL)
    assert found(tmp_path) == 4


def another_machine(run: Run) -> None:
    """As if a process of another machine had written the owner's file."""
    who = json.loads((run.path / saved_runs.OWNER).read_text())
    (run.path / saved_runs.OWNER).write_text(json.dumps(who | {"boot": "another", "pid": 1, "began": 1.0}))


def without_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise locks.NoLocksError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(locks, "hold", refuse)


def test_without_locks_a_living_process_keeps_its_run(tmp_path: Path, monkeypatch):
    without_locks(monkeypatch)
    living = Run(tmp_path, "bandit")
    assert found(tmp_path) is None and Run(tmp_path, "bandit").path.is_dir() and living.path.is_dir()
    save(living.path, 3, 1000.0)
    assert found(tmp_path) is None, "it is this process's"
    script = "import sys; from pathlib import Path; from dshq_widget.training import saved_runs\n"
    script += "from dshq_widget.system import locks\n"
    script += "def refuse(*_): raise locks.NoLocksError(37, 'No locks available')\n"
    script += "locks.hold = refuse; run = saved_runs.Run(Path(sys.argv[1]), 'bandit')\n"
    script += "import os; print(run.path, flush=True); os._exit(0)"  # killed, as far as its run goes
    done = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, timeout=300)
    save(Path(done.stdout.strip()), 4, 2000.0)
    assert found(tmp_path) == 4, "its process has ended"


@pytest.mark.parametrize("own", [True, False], ids=["locks of its own", "no locks"])
def test_a_run_of_another_machine_lives_while_it_is_written(tmp_path: Path, monkeypatch, own: bool):
    """Two machines share a home, and each sees its own locks alone: both get this one's."""
    there, empty = Run(tmp_path, "bandit"), Run(tmp_path, "bandit")
    for run in (there, empty):
        another_machine(run)
    monkeypatch.setattr(saved_runs, "_free", lambda run: True if own else None)
    save(there.path, 5, time.time())
    assert found(tmp_path) is None, "it was written a moment ago"
    Run(tmp_path, "bandit")
    assert there.path.is_dir() and empty.path.is_dir()
    long_ago = time.time() - 2 * saved_runs.QUIET_SECONDS
    for run in (there, empty):
        for path in (run.path / AUTOSAVE, run.path / saved_runs.OWNER, run.path):
            if path.exists():
                os.utime(path, (long_ago, long_ago))
    assert found(tmp_path) == 5
    Run(tmp_path, "bandit")
    assert empty.path.is_dir(), "it may be about to save for the first time"


@pytest.mark.slow
def test_a_trainer_goes_on_from_it_with_its_settings(tmp_path: Path):
    with Trainer(Bandit, keep_in=tmp_path, learning_rate=0.02, num_envs=64) as trainer:
        trainer.start()
        assert trainer.wait(updates=5, progress=False)
        trainer.stop()
        assert trainer.join(60)
        version = trainer.version
    run = earlier(tmp_path, "bandit", RULES, "ppo")
    assert run.version == version > 0

    with Trainer(Bandit, keep_in=tmp_path) as again:
        again.resume_from(run.path)
        assert (again.version, again.config.learning_rate, again.status) == (version, 0.02, "stopped")
        again.start()
        assert again.wait(updates=version + 3, progress=False)
        with pytest.raises(RuntimeError, match="stop"):
            again.resume_from(run.path)
    with Trainer("cartpole") as other, pytest.raises(checkpoint.CheckpointError):
        other.resume_from(run.path)


def test_a_run_that_cannot_begin_leaves_no_folder(tmp_path, monkeypatch):
    """On a full disk each start left one, which nobody ever removed."""

    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(saved_runs.atomic, "write", full)
    with pytest.raises(OSError, match="No space"):
        saved_runs.Run(tmp_path, "ball")
    assert not list((tmp_path / "ball").iterdir())


def test_the_run_that_is_resumed_stays_whoever_has_newer_ones(tmp_path: Path):
    """*Resume run* removed the run that it resumed where five newer ones, of another algorithm, were kept."""
    old = Run(tmp_path, "bandit")
    save(old.path, 63, 1000.0)
    old.close()
    for version in range(KEPT):
        run = Run(tmp_path, "bandit")
        save(run.path, version + 1, 2000.0 + version, algorithm="spo")
        run.close()
    assert found(tmp_path) == 63
    with Trainer(Bandit, keep_in=tmp_path) as trainer:
        place = Quota(trainer, Rules(runs=tmp_path), print)
        place.resume_run()
        assert trainer.wait(updates=1, progress=False)
        assert trainer.version > 63
        assert (old.path / AUTOSAVE).exists()


@pytest.mark.parametrize("ended", ["closed", "killed"])
def test_what_was_said_to_be_kept_is_there_after_the_kernel(tmp_path: Path, ended: str):
    """The autosave has the name of what was replaced, and the folder was removed as one that had saved nothing."""
    trainer = Trainer(Bandit, keep_in=tmp_path)
    assert trainer.train_for(updates=2, progress=False)
    version = trainer.version
    with Trainer(Bandit) as other:
        assert other.train_for(updates=1, progress=False)
        loaded = other.save(tmp_path / "other.dshq")
    trainer.load(loaded)
    kept = Path(trainer.status_text.rpartition(" is saved in ")[2])
    assert kept.parent.parent == saved_runs.folder_of(tmp_path, "bandit")
    if ended == "closed":
        trainer.close()
    else:
        _, _, given, _ = trainer._run.files._folder._end.detach()  # nobody has closed it
        given[-1].close()  # the system releases its lock
    Run(tmp_path, "bandit").close()
    assert checkpoint.load(kept).version == version
    trainer.close()


def test_files_of_a_temporary_folder_say_how_long_they_stay(tmp_path: Path):
    with Trainer(Bandit) as trainer:
        assert trainer.train_for(updates=2, progress=False)
        trainer.load(trainer.save(tmp_path / "bot.dshq"))
        assert trainer.status_text.endswith(" until this trainer is closed")


def test_a_trainer_that_is_closed_while_it_trains_saves_first(tmp_path: Path):
    """Where its file stays: up to five minutes of an optimiser and a league were lost with the `with` block."""
    with Trainer(Bandit, log_dir=tmp_path, autosave_seconds=3600) as trainer:
        trainer.start()
        assert trainer.wait(updates=5, progress=False)
    saved = checkpoint.load(tmp_path / AUTOSAVE)
    assert saved.version == trainer.version >= 5


def test_ctrl_c_while_it_is_closed_leaves_nothing_open(tmp_path: Path, monkeypatch):
    trainer = Trainer(Bandit, keep_in=tmp_path)
    trainer.start()
    assert trainer.wait(updates=2, progress=False)
    run = trainer._run.files._folder

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(trainer._run.changed, "wait_for", interrupt)
        with pytest.raises(KeyboardInterrupt):
            trainer.close()
    assert not run.path.exists() or saved_runs._free(run.path)
    trainer.close()


def test_names_of_a_runs_files_are_those_that_it_writes():
    assert saved_runs.AUTOSAVE == files.AUTOSAVE_NAME
    assert {files.LOADED_NAME, files.ARRIVED_NAME} == saved_runs.COPIES
