"""The package on a system without POSIX, as far as names go: `tests/harness/processes/windows/sitecustomize.py` takes
them away in every process of these tests. What it cannot show: docs/systems.md.
"""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WINDOWS = ROOT / "tests" / "harness" / "processes" / "windows"
STEPS = ["watch", "train", "train_in_the_page", "export", "evaluate", "doctor"]
PATIENCE = 600.0


@pytest.fixture
def windows(tmp_path):
    """The environment of such a process. A temporary folder of its own: its locks are not those of other tests."""
    (tmp_path / "temporary").mkdir()
    return {**os.environ, "PYTHONPATH": str(WINDOWS), "TMPDIR": str(tmp_path / "temporary")}


def test_watching_training_exporting_evaluating_and_the_doctor(windows, tmp_path):
    command = [sys.executable, "-m", "tests.harness.processes.without_posix", tmp_path]
    run = subprocess.run(command, env=windows, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE)
    done = [json.loads(line)["done"] for line in run.stdout.splitlines() if line.startswith('{"done"')]
    assert done == STEPS and run.returncode == 0, run.stdout + run.stderr
    assert list((tmp_path / "temporary").iterdir()) == [], "nothing is left behind"


def test_playing(windows, tmp_path):
    command = [sys.executable, "-m", "dshq_widget.cli", "play", "bandit", "--no-browser"]
    with subprocess.Popen(command, env=windows, cwd=ROOT, stdout=subprocess.PIPE, text=True) as playing:
        try:
            url = playing.stdout.readline().strip()
            with urllib.request.urlopen(url, timeout=PATIENCE) as page:
                assert 'src="play.js?token=' in page.read().decode()
        finally:
            playing.terminate()
        assert playing.wait(PATIENCE) == 0
