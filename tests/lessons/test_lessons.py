"""Every lesson runs in a real kernel; the checks of its exercises fail before and pass after the reference answer."""

import itertools
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from dshq_widget.lessons import LESSONS
from tools.notebooks import FOLDER, notebook, texts, written

ANSWERS = Path(__file__).parent / "answers"
SECONDS = "2"
"""What `seconds` gives in these runs, at most."""
CELL_SECONDS = 300
"""A cell may take this long on a busy machine that never compiled anything."""

lessons = pytest.mark.parametrize("text", texts(), ids=lambda path: path.stem)


def tags(cell) -> list[str]:
    return cell.metadata.get("tags", [])


def answers(number: str) -> list[str]:
    """The reference answers to a lesson's exercises, in order."""
    path = ANSWERS / f"{number}.py"
    parts = path.read_text(encoding="utf-8").split("# %%\n") if path.exists() else []
    return [part for part in parts if part.strip()]


class Reader:
    """Somebody who runs cells, in a kernel of its own."""

    def __init__(self, path: Path):
        self.cells = nbformat.read(path, as_version=4).cells
        kept = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell()])
        self.client = NotebookClient(kept, timeout=CELL_SECONDS, resources={"metadata": {"path": str(path.parent)}})

    def run(self, source: str) -> list[nbformat.NotebookNode]:
        """Run code as a cell; returns its outputs, raises CellExecutionError."""
        cell = nbformat.v4.new_code_cell(source)
        self.client.execute_cell(cell, 0)
        return cell.outputs

    def is_done(self, check: str) -> bool:
        """Run the code of a check; whether it finds the exercise done. The verdict is what its cell shows."""
        self.run(check)
        done, verdict = self.run("print(_.done, repr(_))")[0].text.split(" ", 1)
        assert verdict.startswith("Done: " if done == "True" else "Not yet: ")
        return done == "True"


@lessons
def test_runs_top_to_bottom_and_its_checks_know_right_from_wrong(text: Path, monkeypatch):
    monkeypatch.setenv("DSHQ_LESSON_SECONDS", SECONDS)
    reader = Reader(text.with_suffix(".ipynb"))
    code = [cell for cell in reader.cells if cell.cell_type == "code"]
    known = iter(answers(text.stem[:2]))
    shown = []
    with reader.client.setup_kernel():
        for cell, following in itertools.zip_longest(code, code[1:]):
            if "check" in tags(cell):
                continue
            shown += reader.run(cell.source)
            if "exercise" in tags(cell):
                assert following and "check" in tags(following), f"a check has to follow the exercise:\n{cell.source}"
                assert not reader.is_done(following.source), f"this starting point counts as done:\n{cell.source}"
                reader.run(next(known))
                assert reader.is_done(following.source), f"the reference answer does not count as done:\n{cell.source}"
    assert list(known) == [], "more answers than exercises"
    assert any("application/vnd.jupyter.widget-view+json" in output.get("data", {}) for output in shown)


@lessons
def test_the_notebook_is_its_text(text: Path):
    stored = text.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert stored == written(text.read_text(encoding="utf-8")), "run `python -m tools.notebooks`"


@lessons
def test_has_what_every_lesson_has(text: Path):
    lesson = LESSONS[text.stem[:2]]
    made = notebook(text.read_text(encoding="utf-8"))
    nbformat.validate(made)
    assert text.stem == lesson.stem
    words = [line for cell in made.cells if cell.cell_type == "markdown" for line in cell.source.splitlines()]
    assert words[0] == f"# {lesson.title}"
    headings = [line.removeprefix("## ") for line in words if line.startswith("## ")]
    for wanted in ("Predict", "Break it", "What you now know"):
        assert wanted in headings, f"a section '{wanted}'; there are {headings}"
    assert any("exercise" in tags(cell) for cell in made.cells)
    following = [row.stem for row in LESSONS.values() if row.number > lesson.number][:1]
    for stem in following:
        assert any(f"({stem}.ipynb)" in line for line in words), "a link to the next lesson"


def test_every_lesson_of_the_table_is_written():
    assert [path.stem for path in texts()] == [row.stem for row in LESSONS.values()]
    assert [row.number for row in LESSONS.values()] == [f"{n:02d}" for n in itertools.islice(itertools.count(1), 10)]
    assert {path.stem for path in ANSWERS.glob("*.py")} <= set(LESSONS)
    assert sorted(FOLDER.glob("*.ipynb")) == [path.with_suffix(".ipynb") for path in texts()]
