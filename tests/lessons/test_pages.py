"""The lessons' pages are those of their texts, ask nobody for anything, and their matches play."""

import base64
import gzip
import json
import re

import pytest

from dshq_widget.lessons import LESSONS
from tools.notebooks import FOLDER
from tools.pages import PAGES, index, page, shown_before

rows = pytest.mark.parametrize("row", LESSONS.values(), ids=LESSONS)


@rows
def test_a_page_is_its_text_and_what_its_cells_showed(row):
    text = (FOLDER / f"{row.stem}.md").read_text(encoding="utf-8")
    written = (PAGES / f"{row.stem}.html").read_text(encoding="utf-8")
    assert written == page(row, text, shown_before(row, text)), "run `python -m tools.pages`"


@rows
def test_a_page_needs_no_network_and_every_match_has_its_place(row):
    written = (PAGES / f"{row.stem}.html").read_text(encoding="utf-8")
    asked = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"([^\"]+)\"", written)
    assert set(asked) == {"widget.css", "lessons.css", "widget.js"}
    matches = re.findall(r'<script type="application/gzip" id="(\w+)-match">(.*?)</script>', written)
    assert len({place for place, _ in matches}) == len(matches)
    assert matches or "played by the kernel" in written
    for place, saved in matches:
        assert f'<div class="match" id="{place}"></div>' in written
        match = json.loads(gzip.decompress(base64.b64decode(saved)))
        assert set(match["controls"]) <= {"transport", "status", "mind"}


def test_the_list_of_lessons_is_the_table():
    assert (PAGES / "index.html").read_text(encoding="utf-8") == index()
    assert {path.stem for path in PAGES.glob("*.html")} == {"index", *(row.stem for row in LESSONS.values())}
