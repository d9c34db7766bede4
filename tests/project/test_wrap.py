"""Lessons and the documents for beginners and teachers have lines of at most 120 characters."""

from pathlib import Path

import pytest

from tools.wrap import WIDTH, wrapped

ROOT = Path(__file__).parents[2]
TEXTS = [
    path
    for folder in ("notebooks/source", "docs/start", "docs/classroom", "tools/site/pages")
    for path in sorted((ROOT / folder).rglob("*.md"))
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
