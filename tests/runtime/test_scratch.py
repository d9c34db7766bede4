"""Temporary folders outlive nobody: neither an owner that closes them nor one that is killed."""

import os
import signal
import subprocess
import sys

from dshq_widget.runtime.scratch import Scratch, sweep

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
