"""Temporary folders outlive nobody: neither an owner that closes them nor one that is killed."""

import contextlib
import os
import signal
import subprocess
import sys

import pytest

from dshq_kernels.simd import folders
from dshq_kernels.simd.own_folder import is_own
from dshq_widget.runtime.scratch import OWNER, Scratch, sweep

OWN = """
import sys, time
from pathlib import Path
from dshq_widget.runtime.scratch import Scratch
mine = Scratch(Path(sys.argv[1]))
(mine.path / "autosave.dshq").write_bytes(bytes(65536))
print(mine.path, flush=True)
if sys.argv[2] == "wait":
    time.sleep(600)
"""


def owner(root, then):
    return subprocess.Popen([sys.executable, "-c", OWN, str(root), then], stdout=subprocess.PIPE, text=True)


def test_closing_removes_it_twice_is_fine(tmp_path):
    scratch = Scratch(tmp_path)
    (scratch.path / "file").write_text("x")
    scratch.close()
    scratch.close()
    assert list(tmp_path.iterdir()) == []


def test_one_that_is_forgotten_goes_too(tmp_path):
    Scratch(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with owner(tmp_path, "end") as process:
        assert process.wait(300) == 0
    assert list(tmp_path.iterdir()) == []


FORK = """
import os, sys
from pathlib import Path
from dshq_widget.runtime.scratch import Scratch
from dshq_widget.training.saved_runs import Run
root = Path(sys.argv[1])
mine, run = Scratch(root), Run(root, "bandit")
copy = os.fork()
if copy == 0:
    sys.exit(0)
os.waitpid(copy, 0)
print(mine.path.is_dir(), run.path.is_dir())
"""


def test_a_forked_copy_that_ends_takes_nothing_along(tmp_path):
    done = subprocess.run([sys.executable, "-c", FORK, str(tmp_path)], capture_output=True, text=True, timeout=300)
    assert done.stdout.split() == ["True", "True"], done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["bandit"], "the parent's own end does"
    assert list((tmp_path / "bandit").iterdir()) == []


def test_the_next_one_sweeps_what_a_killed_owner_left_and_spares_the_living(tmp_path):
    stranger = tmp_path / "dshq-run-of-somebody-else"
    stranger.mkdir()
    with owner(tmp_path, "wait") as living, owner(tmp_path, "wait") as victim:
        lives, dies = (process.stdout.readline().strip() for process in (living, victim))
        victim.send_signal(signal.SIGKILL)
        victim.wait(300)
        assert os.path.exists(dies)
        mine = Scratch(tmp_path)
        assert not os.path.exists(dies)
        assert {str(path) for path in tmp_path.iterdir()} == {lives, str(mine.path), str(stranger)}
        living.kill()
    mine.close()
    sweep(tmp_path)
    assert list(tmp_path.iterdir()) == [stranger]


def test_what_a_neighbour_prepares_is_left_alone_and_not_waited_for(tmp_path):
    """A pipe, a link and a folder in the place of the owner's file, in folders of one's own and of others; and such a
    file in a folder that is another's, or that a link leads to.
    """
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o700)
    (mine / OWNER).touch()
    (tmp_path / "dshq-run-elsewhere").symlink_to(mine, target_is_directory=True)
    for name, prepare in {
        "pipe": lambda path: os.mkfifo(path),
        "link": lambda path: path.symlink_to(tmp_path / "victim"),
        "folder": lambda path: path.mkdir(),
        "file": lambda path: path.touch(),
    }.items():
        for own in (True, False) if name != "file" else (False,):
            folder = tmp_path / f"dshq-run-{name}-{own}"
            folder.mkdir(mode=0o700)
            prepare(folder / OWNER)
            if not own and os.getuid() == 0:
                os.chown(folder, 12345, 12345)
            elif not own:
                folder.chmod(0o777)
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "dshq-run-away").symlink_to(tmp_path, target_is_directory=True)
    before = set(tmp_path.iterdir())
    with contextlib.closing(Scratch(tmp_path)) as scratch:
        assert set(tmp_path.iterdir()) == {*before, scratch.path} and (mine / OWNER).exists()
    assert (tmp_path / "victim").read_text() == "mine"


def test_only_a_folder_that_nobody_else_can_change_is_ones_own(tmp_path):
    (tmp_path / "new").mkdir(mode=0o700)
    assert is_own(tmp_path / "new")
    (tmp_path / "file").touch()
    assert not is_own(tmp_path / "file") and not is_own(tmp_path / "none")
    (tmp_path / "link").symlink_to(tmp_path / "new", target_is_directory=True)
    assert not is_own(tmp_path / "link")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert not is_own(tmp_path / "open")
    if os.getuid() == 0:
        os.chown(tmp_path / "new", 12345, 12345)
        assert not is_own(tmp_path / "new")


def test_machine_code_is_not_kept_where_a_neighbour_made_the_folder(tmp_path, monkeypatch):
    """A predictable folder of the temporary one is taken only if it is one's own."""
    monkeypatch.setattr(folders.tempfile, "tempdir", str(tmp_path))
    (tmp_path / "file").touch()
    monkeypatch.setenv("DSHQ_CACHE_DIR", str(tmp_path / "file"))
    taken = tmp_path / f"dshq-{os.getuid()}"
    assert folders.cache_dir() == taken and taken.stat().st_mode & 0o777 == 0o700
    taken.chmod(0o777)
    found = folders.cache_dir()
    assert found != taken and is_own(found)


def test_what_a_neighbours_link_leads_to_stays_as_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(folders.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(folders, "_of_this_process", lambda: tmp_path)
    monkeypatch.setenv("DSHQ_CACHE_DIR", os.devnull)
    (tmp_path / "mine").mkdir()
    (tmp_path / f"dshq-{os.getuid()}").symlink_to(tmp_path / "mine")
    assert folders.cache_dir() == tmp_path and not list((tmp_path / "mine").iterdir())


@pytest.mark.parametrize("theirs", ["cache/dshq", "~/.cache/dshq", f"dshq-{os.getuid()}"])
def test_no_machine_code_is_taken_from_the_working_folder(theirs, tmp_path, monkeypatch):
    """It would run, and a stranger's folder belongs to whoever has unpacked it."""
    work = tmp_path / "work"
    (work / theirs / "rules").mkdir(parents=True)
    monkeypatch.chdir(work)
    monkeypatch.delenv("DSHQ_CACHE_DIR", raising=False)
    monkeypatch.setattr(folders.tempfile, "tempdir", None)
    monkeypatch.setattr(
        folders.tempfile, "_candidate_tempdir_list", lambda: [str(work)]
    )  # where no other can be written
    monkeypatch.setattr(folders.os.path, "expanduser", lambda path: path)  # nobody knows the user's home
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setattr(folders, "_of_this_process", lambda: tmp_path)
    assert folders.cache_dir() == tmp_path
