"""Two runs do not write one file."""

import os
import subprocess
import sys

import pytest

from dshq_widget.cli import main
from dshq_widget.files.claims import ClaimError, claimed

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


def test_a_claim_ends_with_its_process_and_leaves_nothing(other, tmp_path):
    path = tmp_path / "bot.dshq"
    with pytest.raises(ClaimError, match="another run writes"), claimed(path):
        pass
    other.kill()
    other.wait()
    with claimed(path, path):
        assert os.listdir(tmp_path) == [".bot.dshq.lock"]
    assert os.listdir(tmp_path) == []


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path):
    (tmp_path / ".bot.dshq.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(OSError), claimed(tmp_path / "bot.dshq"):
        pass
    assert not (tmp_path / "victim").exists()
