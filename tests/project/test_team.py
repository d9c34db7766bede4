"""What threads and rollout processes make on more processors (`benchmarks/team.py`), as docs/howto/tune.md has it."""

import re
from pathlib import Path

from benchmarks.team import RESULT, RESULTS, measured, rows

PAGE = Path(__file__).parents[2] / "docs/howto/tune.md"


def test_the_page_has_the_rows_of_the_benchmark():
    text = PAGE.read_text(encoding="utf-8")
    found = list(rows(measured(RESULTS / RESULT)))

    def line(name: str, values: list[str]) -> str:
        return f"| {name} | {' | '.join(values)} |\n"

    assert line("processors", [str(row.processors) for row in found]) in text
    assert line("threads alone", [f"{row.alone.rate / 1e6:.1f}" for row in found]) in text
    assert line("best with processes", [f"{row.team.rate / 1e6:.1f}" for row in found]) in text
    assert not any(row.chosen.workers for row in found) and "takes threads in all of them" in re.sub(r"\s+", " ", text)
    assert f"`{RESULT}`" in text
