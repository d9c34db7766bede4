"""Lessons and documents have lines of at most 120 characters, but for the log and what `make tables` writes."""

from pathlib import Path

import pytest

from tools import tables
from tools.wrap import WIDTH, wrapped

ROOT = Path(__file__).parents[2]
NOT_WRAPPED = {ROOT / path for path in ("docs/LOG.md", *tables.FILES)}
TEXTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "dshq_widget/drills/README.md")),
    *(
        path
        for folder in ("notebooks/source", "docs", "tools/site/pages")
        for path in sorted((ROOT / folder).rglob("*.md"))
        if path not in NOT_WRAPPED
    ),
]
LONG = " ".join(["word"] * 40)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_lines_are_wrapped(path: Path):
    text = path.read_text(encoding="utf-8")
    assert wrapped(text) == text, f"run `python -m tools.wrap {path.relative_to(ROOT)}`"


def test_prose_is_broken_and_nothing_else():
    kept = f"# {LONG}\n\n| {LONG} |\n\n```\n{LONG}\n```\n\n<!-- quotes\n{LONG}\n-->\n\nshort\nlines\n"
    assert wrapped(kept) == kept
    first, second = wrapped(f"* {LONG}").split("\n")
    assert first.startswith("* word") and second.startswith("  word") and len(first) <= WIDTH
    assert f"{first} {second.strip()}" == f"* {LONG}"


def test_no_line_begins_what_its_text_does_not():
    before = "a" * (WIDTH - 2)
    assert wrapped(f"{before} 1951. It {LONG}").startswith(f"{before} 1951.\nIt")
    assert wrapped(f"{before} - x").startswith(f"{before} -\nx")
    assert wrapped(f"{before} `two words` {LONG}").split("\n")[1].startswith("`two words` word")
