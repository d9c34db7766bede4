"""Every lesson runs in a real kernel; the checks of its exercises fail before and pass after the reference answer."""

import itertools
import re
from pathlib import Path

import nbformat
import pytest

from dshq_widget.lessons import LESSONS, Lesson
from tests.harness.notebook_reader import ANSWERS, Reader, answers, chosen, tags
from tools.notebooks import FOLDER, notebook, notebook_of, texts, written
from tools.quotes import GIVEN, quotes

SECONDS = "1"
"""What `seconds` gives in these runs, at most."""

ROUNDING = 1e-9
"""Decimal fractions of the prose are binary ones in the kernel."""

IN_SHORT = ("watch",)
"""Lessons that also run whole without the slow tests. The checks of all run in test_attempts.py."""


def of(text: Path) -> Lesson:
    """The lesson that a text is."""
    return next(row for row in LESSONS.values() if row.stem == text.stem)


lessons = pytest.mark.parametrize("text", texts(), ids=lambda path: path.stem)
in_short_or_slow = pytest.mark.parametrize(
    "text",
    [pytest.param(path, marks=[] if of(path).name in IN_SHORT else pytest.mark.slow) for path in texts()],
    ids=lambda path: path.stem,
)


def is_widget(output: nbformat.NotebookNode) -> bool:
    """Whether an output of a cell is a match."""
    return "application/vnd.jupyter.widget-view+json" in output.get("data", {})


@in_short_or_slow
def test_runs_top_to_bottom_and_its_checks_know_right_from_wrong(text: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("DSHQ_LESSON_SECONDS", SECONDS)
    cells = nbformat.read(notebook_of(text), as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    known = iter(answers(of(text)))
    quoted = quotes(text.read_text(encoding="utf-8"))
    shown, wrong = [], []
    with Reader(tmp_path) as reader:
        for number, (cell, following) in enumerate(itertools.zip_longest(code, code[1:]), start=1):
            if "check" not in tags(cell):
                shown += reader.run(chosen(cell))
            if "exercise" in tags(cell):
                assert following and "check" in tags(following), f"a check has to follow the exercise:\n{cell.source}"
                assert not reader.is_done(following.source), f"this starting point counts as done:\n{cell.source}"
                reader.run(next(known))
                assert reader.is_done(following.source), f"the reference answer does not count as done:\n{cell.source}"
            for quote in quoted:
                if quote.after == number and quote.expression != GIVEN:
                    found = float(reader.said(f"print(float({quote.expression}))"))
                    if not abs(found - quote.value) <= quote.tolerance + ROUNDING:
                        wrong.append(f"the prose says {quote.words!r}; {quote.expression} is {found:g}")
    assert wrong == []
    assert list(known) == [], "more answers than exercises"
    assert any(is_widget(output) for output in shown)


@in_short_or_slow
def test_run_all_ends_with_the_match_in_view_and_stops_nothing(text: Path, tmp_path: Path, monkeypatch):
    """As "Run All" in Jupyter: nothing was removed from the `wait` cells, no exercise was done."""
    monkeypatch.setenv("DSHQ_LESSON_SECONDS", SECONDS)
    code = [cell for cell in nbformat.read(notebook_of(text), as_version=4).cells if cell.cell_type == "code"]
    with Reader(tmp_path) as reader:
        for cell in code:
            outputs = reader.run(cell.source)
        assert any(is_widget(output) for output in outputs), "the last cell shows the match"
        started = re.findall(r"(?m)^(\w+)\.train\(\)$", "\n".join(cell.source for cell in code))
        for name in started:
            assert reader.said(f"print({name}.status)").strip() in ("starting", "training"), name


@lessons
def test_the_notebook_is_its_text(text: Path):
    stored = notebook_of(text).read_text(encoding="utf-8")
    assert stored == written(text), "run `python -m tools.notebooks`"


@lessons
def test_has_what_every_lesson_has(text: Path):
    lesson = of(text)
    made = notebook(text.read_text(encoding="utf-8"))
    nbformat.validate(made)
    words = [line for cell in made.cells if cell.cell_type == "markdown" for line in cell.source.splitlines()]
    assert words[0] == f"# {lesson.title}"
    headings = [line.removeprefix("## ") for line in words if line.startswith("## ")]
    for wanted in ("Predict", "Break it", "What you now know", "Read on"):
        assert wanted in headings, f"a section '{wanted}'; there are {headings}"
    assert any("exercise" in tags(cell) for cell in made.cells)
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    used = set(re.findall(r'lesson="([^"]+)"|check\("([^"]+)"', "\n".join(cell.source for cell in code)))
    assert {name or checked for name, checked in used} == {lesson.name}
    for cell in code:
        if "wait" in tags(cell):
            assert all(line.startswith("# ") for line in cell.source.splitlines()), "whoever runs it chooses to"
        else:
            held = re.search(r"(?m)^\w+\.(close|stop|wait)\(", cell.source)
            assert not held, f"to run all cells would stop or hold up a match: {held[0]}"
    assert made.cells[-1] is code[-1] and code[-1].source.isidentifier(), "the last cell shows a match"
    following = [row.stem for row in LESSONS.values() if row.number > lesson.number][:1]
    for stem in following:
        assert any(f"({stem}.ipynb)" in line for line in words), "a link to the next lesson"


@lessons
def test_imports_what_is_public_alone(text: Path):
    """What a student learns to write keeps its name: only public modules, and a feature's own `lesson`."""
    code = [cell.source for cell in notebook(text.read_text(encoding="utf-8")).cells if cell.cell_type == "code"]
    named = re.findall(r"(?m)^\s*(?:from|import) (dshq\w+[\w.]*)", "\n".join(code))
    public = re.compile(r"dshq_widget(\.extend|\.lessons(\.\w+)*|\.\w+\.lesson)?")
    assert [name for name in named if not public.fullmatch(name)] == []


def test_every_lesson_of_the_table_is_written():
    assert [path.stem for path in texts()] == [row.stem for row in LESSONS.values()]
    assert [row.name for row in LESSONS.values()] == list(LESSONS)
    numbers = [row.number for row in LESSONS.values()]
    assert numbers == sorted(set(numbers)) and all(re.fullmatch(r"\d\d", number) for number in numbers)
    assert {path.stem for path in ANSWERS.glob("*.py")} <= {row.module for row in LESSONS.values()}
    listed = [path for path in FOLDER.iterdir() if re.match(r"\d\d_", path.name)]
    assert sorted(listed) == [notebook_of(path) for path in texts()], "a file browser lists each lesson once"
