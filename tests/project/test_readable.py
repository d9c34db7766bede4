"""Text of the pages is 13 pixels at least, whatever the window."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LEAST = 13
ROOT_SIZES = {"tools/site/assets/site.css": 20, "tools/instructor/slides.css": 16, "tools/lessons.css": 16}
"""Pixels of 1rem or 1em, where a sheet counts in them: mkdocs-material's, and those of its `body` in a small window."""
PAGES = sorted(
    path
    for folder, endings in (("js", ("css",)), ("dshq_widget", ("css", "html", "py")), ("tools", ("css", "html", "py")))
    for ending in endings
    for path in (ROOT / folder).rglob(f"*.{ending}")
    if "static" not in path.parts and re.search(r"\bfont(-size)?:", path.read_text(encoding="utf-8"))
)
_SIZE = re.compile(r"\bfont(?:-size)?:\s*([^;}]*)")
_LENGTH = re.compile(r"(\d*\.?\d+)(px|r?em)\b")


def sizes(text: str, root: float) -> list[tuple[float, str]]:
    """Each declared size in pixels, the least one of `max()` and `clamp()`, with its declaration."""
    found = []
    for declared in _SIZE.finditer(text):
        length = _LENGTH.search(declared[1])
        if length:
            found.append((float(length[1]) * (1 if length[2] == "px" else root), declared[0]))
    return found


def test_a_size_is_read_in_each_way_that_sheets_write_it():
    sheet = "a { font: 600 12px/1.2 x } b { font-size: max(13px, .5em); } c { font-size: 0.5rem } d { font: inherit }"
    assert [size for size, _ in sizes(sheet, 20)] == [12, 13, 10]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_text_is_smaller(path: Path):
    found = sizes(path.read_text(encoding="utf-8"), ROOT_SIZES.get(path.relative_to(ROOT).as_posix(), LEAST))
    assert [declared for size, declared in found if size < LEAST] == []


def test_the_sheets_of_all_pages_are_read():
    names = {path.name for path in PAGES}
    assert {"base.css", "gate.css", "league.css", "slides.css", "lessons.css", "site.css"} <= names
