"""The suite itself: a test that takes its process down fails, and the others run."""

import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = """
from tests.harness.apart import BrowserApart

def pytest_xdist_make_scheduler(config, log):
    return BrowserApart(config, log)
"""
# What the operating system answers between a process's death and the moment in which pytest-xdist hears of it.
CUT_OFF = """
def cut_off(indices):
    raise OSError("cannot send (already closed?)")

def pytest_runtest_logreport(report):
    if hasattr(report, "node") and report.nodeid.endswith("test_first"):
        report.node.send_runtest_some = cut_off
"""
DIES = "import os\ndef test_first(): pass\ndef test_dies(): os._exit(1)\ndef test_last(): pass\n"
DIES_ALONE = "import os\ndef test_dies(): os._exit(1)\n"
STAYS = "def test_a(): pass\ndef test_b(): pass\n"


# Both die at one time; the one that takes a dead one's place first is given work while the other has not collected yet.
DIE_TOGETHER = """
import os, time
from pathlib import Path
def test_dies():
    Path({own!r}).touch()
    while not Path({other!r}).exists():
        time.sleep(0.01)
    os._exit(1)
"""


@pytest.mark.parametrize(
    "files, passed, more",
    [
        ({"test_a": STAYS, "test_b": DIES, "test_c": STAYS, "test_d": STAYS}, 8, ""),
        ({"test_a": STAYS, "test_z": DIES_ALONE}, 2, ""),
        ({"test_a": DIES, **{f"test_{letter}": STAYS for letter in "bcdefgh"}}, 16, CUT_OFF),
    ],
    ids=["in the middle", "at the end", "dead before it is sent more work"],
)
def test_a_test_that_takes_its_process_down_fails_and_the_others_run(tmp_path, files, passed, more):
    found = suite(tmp_path, CONFTEST + more, files)
    assert f"1 failed, {passed} passed" in found, found


def test_both_processes_may_die_at_once(tmp_path):
    one, other = (str(tmp_path / f"{name}.here") for name in ("one", "other"))
    files = {"test_a": DIE_TOGETHER.format(own=one, other=other), "test_b": DIE_TOGETHER.format(own=other, other=one)}
    found = suite(tmp_path, CONFTEST, files | {f"test_{letter}": STAYS for letter in "cdefgh"})
    assert "2 failed, 12 passed" in found, found


def suite(folder: Path, conftest: str, files: dict[str, str]) -> str:
    """What a suite of its own in two processes says."""
    (folder / "conftest.py").write_text(conftest)
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    plugins = ["-p", "xdist", "-p", "no:cacheprovider"]  # alone: to import others takes longer than this suite
    command = [sys.executable, "-m", "pytest", "-n", "2", *plugins, "--rootdir", ".", "."]
    environment = {"PATH": "", "PYTHONPATH": str(Path(__file__).parents[2]), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    return run.stdout + run.stderr
