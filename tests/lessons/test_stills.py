"""Every notebook has a still of its match: a picture that shows something, in the cell that makes the match."""

import base64
import io
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbconvert import HTMLExporter
from PIL import Image

from dshq_widget.lessons import LESSONS
from dshq_widget.notebook.lab import copy_notebooks
from dshq_widget.widget.still import SENTENCE
from tools.instructor.assignments import assignment
from tools.instructor.keys import key
from tools.instructor.lessons import Material
from tools.notebooks import FOLDER, STILLS, notebook, notebook_of, still_of, texts, widget_cell, written
from tools.stills import COLOURS, MARGIN, WIDTH, small

MOST = 100_000
"""Bytes of a still: a reader without the widget loads it with the notebook."""
lessons = pytest.mark.parametrize("text", texts(), ids=lambda path: path.stem)


@lessons
def test_a_still_shows_something_and_is_small(text: Path):
    path = still_of(text)
    assert path.exists(), "run `python -m tools.stills` with the lesson's name, then `python -m tools.notebooks`"
    assert path.stat().st_size < MOST
    picture = Image.open(path)
    assert picture.format == "PNG" and picture.width == WIDTH and 300 < picture.height < 1500
    words = np.asarray(picture.convert("RGB")) @ (1, 256, 65536)
    colours, counts = np.unique(words, return_counts=True)
    assert len(colours) > 16 and counts.max() < 0.9 * words.size, "the picture is empty"


@lessons
def test_the_cell_that_makes_the_match_keeps_the_still_and_no_other_cell_anything(text: Path):
    made = nbformat.read(notebook_of(text), as_version=4)
    nbformat.validate(made)
    shown = [place for place, cell in enumerate(made.cells) if cell.get("outputs")]
    assert shown == [widget_cell(made)]
    picture, words = made.cells[shown[0]].outputs
    assert base64.b64decode(picture.data["image/png"]) == still_of(text).read_bytes()
    assert SENTENCE in words.data["text/html"] and words.data["text/plain"] == SENTENCE
    assert picture.data["text/plain"] == picture.metadata["image/png"]["alt"]


def test_there_is_a_still_for_each_lesson_and_none_else():
    assert sorted(STILLS.iterdir()) == sorted(still_of(text) for text in texts())


def test_a_page_made_of_the_notebook_shows_still_and_sentence():
    page, _ = HTMLExporter().from_filename(str(notebook_of(texts()[0])))
    assert page.count('src="data:image/png;base64,') == 1 and SENTENCE in page


def test_a_lesson_that_has_no_still_yet_becomes_a_notebook_without_outputs(tmp_path: Path):
    text = tmp_path / "99_another.md"
    text.write_text("# Another\n\n```python\nDrillWidget()\n```\n", encoding="utf-8")
    made = nbformat.reads(written(text), as_version=4)
    assert [cell.get("outputs", []) for cell in made.cells] == [[], []]
    with pytest.raises(ValueError, match=r"wanted a cell with DrillWidget\(\.\.\.\)"):
        widget_cell(notebook("# Another\n"))


def test_students_get_the_stills_and_what_is_graded_has_none(tmp_path: Path):
    copy_notebooks(tmp_path)
    for path in FOLDER.glob("*.ipynb"):
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()
    material = Material.of(LESSONS["watch"])
    for made in (assignment(material), key(material)):
        assert [cell for cell in made.cells if cell.get("outputs")] == []


def test_few_colours_are_kept_and_a_margin_is_added():
    before = Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 60, 3), np.uint8))
    png = io.BytesIO()
    before.save(png, "PNG")
    after = Image.open(io.BytesIO(small(png.getvalue())))
    assert after.mode == "P" and after.size == (60 + 2 * MARGIN, 40 + 2 * MARGIN)
    assert len(after.getcolors() or []) <= 2 * COLOURS


def test_the_empty_part_below_is_cut_off():
    page = Image.new("RGB", (60, 400), "white")
    page.paste("blue", (10, 10, 50, 40))
    png = io.BytesIO()
    page.save(png, "PNG")
    after = Image.open(io.BytesIO(small(png.getvalue())))
    assert after.size == (60 + 2 * MARGIN, 40 + 2 * MARGIN)
