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
    (tmp_path / "conftest.py").write_text(CONFTEST + more)
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", "--rootdir", ".", "."]
    root = str(Path(__file__).parents[2])
    run = subprocess.run(
        command, cwd=tmp_path, env={"PATH": "", "PYTHONPATH": root}, capture_output=True, text=True, timeout=300
    )
    assert f"1 failed, {passed} passed" in run.stdout, run.stdout + run.stderr
