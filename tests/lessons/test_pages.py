"""The lessons' pages: every text becomes one, they ask nobody for anything, and their matches are whole."""

import base64
import gzip
import json
import re
from pathlib import Path

import pytest

from dshq_widget.contract.icon import ICON
from dshq_widget.lessons import LESSONS, lesson
from dshq_widget.widget.export_html import TRAINING_PANELS
from tools.notebooks import SOURCE, notebook
from tools.pages import LEARNER, build, index, page, share, shown_before

ROW = lesson("replay")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page of one lesson, worked through with little training."""
    folder = tmp_path_factory.mktemp("pages")
    build(folder, ROW, seconds=2)
    share(folder)
    return folder


def text_of(row) -> str:
    return (SOURCE / f"{row.stem}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("row", LESSONS.values(), ids=LESSONS)
def test_every_text_becomes_a_page(row):
    code = [cell.source for cell in notebook(text_of(row)).cells if cell.cell_type == "code"]
    written = page(row, text_of(row), [f"<p>{k}</p>\n" for k in range(len(code))])
    assert "&lt;/" not in re.sub(r"<pre.*?</pre>", "", written, flags=re.DOTALL), "HTML of a text is shown as it is"
    assert "$$" not in re.sub(r"<pre.*?</pre>", "", written, flags=re.DOTALL), "a formula was not turned into MathML"
    asked = re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"([^\"]+)\"", written)
    assert set(asked) == {"widget.css", "lessons.css", "widget.js", LEARNER, ICON}
    assert len(shown_before(row, text_of(row), written)) == len(code)


@pytest.mark.slow
def test_a_page_has_whole_matches_and_each_has_its_place(pages):
    written = (pages / f"{ROW.stem}.html").read_text(encoding="utf-8")
    matches = re.findall(r'<script type="application/gzip" id="(\w+)-match">(.*?)</script>', written)
    assert matches and len({place for place, _ in matches}) == len(matches)
    for place, saved in matches:
        assert f'<div class="match" id="{place}"></div>' in written
        match = json.loads(gzip.decompress(base64.b64decode(saved)))
        assert set(match["controls"]) <= set(TRAINING_PANELS)
        trainer = re.search(rf'<script type="application/json" id="{place}-trainer">(.*?)</script>', written)
        assert trainer, "its drill can be trained in a page"
        builds = json.loads(trainer[1])["drill"]
        modules = [gzip.decompress(base64.b64decode(builds[name])) for name in ("plain", "relaxed")]
        assert all(module.startswith(b"\0asm") for module in modules)


def test_a_page_keeps_its_outputs_until_the_code_changes(pages):
    written = (pages / f"{ROW.stem}.html").read_text(encoding="utf-8")
    shown = shown_before(ROW, text_of(ROW), written)
    assert page(ROW, text_of(ROW), shown) == written
    with pytest.raises(LookupError, match="lesson 'replay'"):
        shown_before(ROW, text_of(ROW).replace("DrillWidget(", "DrillWidget(seed=9, "), written)


def test_the_pages_lie_beside_what_they_share(pages):
    names = {path.name for path in pages.iterdir()}
    assert names == {"index.html", f"{ROW.stem}.html", "widget.js", "widget.css", "lessons.css", LEARNER}
    assert [row for row in LESSONS.values() if f'href="{row.stem}.html"' not in index()] == []
