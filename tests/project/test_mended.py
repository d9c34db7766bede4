"""The page of what was wrong at one commit: each row names commits of the history, and tests or why there is none."""

import re
import subprocess

import pytest

from tests.harness.documents import ROOT

PAGE = ROOT / "docs" / "develop" / "mended.md"
ROWS = [line.strip("| ").split(" | ") for line in PAGE.read_text("utf-8").splitlines() if re.match(r"\| \d+ \|", line)]
COMMITS = sorted(set(re.findall(r"`([0-9a-f]{8})`", PAGE.read_text("utf-8"))))


def test_each_row_has_its_number_and_a_test_or_says_why_there_is_none():
    assert [int(row[0]) for row in ROWS] == [*range(1, len(ROWS) + 1)] and len(ROWS) > 50
    named = re.compile(r"\.py::test_|\.test\.ts|no test: |row \d")
    assert [row[0] for row in ROWS if len(row) != 4 or not named.search(row[3])] == []
    others = [int(number) for row in ROWS for number in re.findall(r"\brows? (\d+)", " ".join(row[2:]))]
    assert others and all(ROWS[number - 1] for number in others)


def git(*words: str) -> str:
    """What git says in the checkout. Skips outside of one."""
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no history here: {error}")
    return done.stdout


def test_each_commit_is_in_the_history():
    if git("rev-parse", "--is-shallow-repository").strip() != "false":
        pytest.skip("the clone is shallow: it has no history")
    history = set(git("log", "--format=%h", "--abbrev=8").split())
    assert len(COMMITS) > 20 and [commit for commit in COMMITS if commit not in history] == []
