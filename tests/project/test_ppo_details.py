"""docs/explain/ppo.md: all 37 details are there once, and what a row names exists."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LEARNERS = ROOT / "dshq_widget/algorithms/ppo/learners"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/explain/ppo.md").read_text().splitlines()
    if re.match(r"\| \d", line)
]


def test_the_37_details_are_there_once():
    numbers = [int(number) for row in ROWS for number in re.findall(r"\d+", row[0])]
    assert numbers == sorted(set(numbers)) and numbers[-1] == 37 and len(ROWS) == 37


def test_every_row_says_in_which_file_and_by_which_test_unless_it_is_out():
    for number, name, here, *places in ROWS:
        out = here.startswith("out")
        assert name and (out or all(places)), f"detail {number}"


def test_what_a_row_names_exists():
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    for number, _, _, files, by in ROWS:
        for name in re.findall(r"`([^`]+)`", f"{files} {by}"):
            if name.startswith("test_"):
                assert re.search(rf"\bdef {name}\b", tests), f"detail {number}: no test {name}"
            else:
                assert (ROOT / name).exists() or (LEARNERS / name).exists(), f"detail {number}: no file {name}"
