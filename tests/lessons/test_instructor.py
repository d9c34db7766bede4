"""What `make instructor` writes: keys, notes, slides, assignments and bundles; and where the answers do not get to."""

import re
import zipfile
from pathlib import Path

import nbformat
import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

from dshq_widget.lessons import LESSONS, plots
from tests.harness.notebook_reader import ANSWERS, Reader, answers, tags
from tools import pages
from tools.instructor import assignments, bundles, notes, slides, syllabus
from tools.instructor.keys import key
from tools.instructor.lessons import POINTS, Material
from tools.notebooks import FOLDER
from tools.pages import SHARED

ROOT = Path(__file__).parents[2]
lessons = pytest.mark.parametrize(
    "lesson", [Material.of(row) for row in LESSONS.values()], ids=lambda one: one.row.name
)


@lessons
def test_a_key_is_the_lesson_with_its_answers_and_nothing_else(lesson: Material):
    made, plain = key(lesson), lesson.notebook()
    nbformat.validate(made)
    sources = [cell.source for cell in made.cells]
    for answer in answers(lesson.row):
        assert sources.count(answer.strip()) == 1
    kept = [cell.source for cell in plain.cells if "exercise" not in tags(cell)]
    assert [source for source in kept if source not in sources] == []


@lessons
def test_a_note_says_objective_time_points_and_usual_mistakes(lesson: Material):
    made = notes.variant(lesson)
    nbformat.validate(made)
    first = made.cells[1].source
    for wanted in (
        lesson.row.idea,
        f"{lesson.minutes} minutes",
        f"{POINTS} for each exercise, {lesson.points} in all",
        "\n* ",
    ):
        assert wanted in first
    for place, cell in enumerate(made.cells):
        if "check" in tags(cell):
            following = made.cells[place + 1].source
            assert following.startswith("**What students usually get wrong.**")
            assert len(re.findall(r"(?m)^\| .+ \| .{10,} \|$", following)) >= 5


@lessons
def test_slides_need_no_network_and_hide_nothing_of_a_section(lesson: Material):
    page = slides.page(lesson)
    assert not re.search(r"""(?:src|href)=["']?\w+://|@import|url\((?!#)""", re.sub(r"<a [^>]*>", "", page))
    assert '.ipynb">' not in page, "beside the slides are the other lessons' slides"
    made = slides.slides(lesson)
    titles = {slide.title for slide in made}
    assert {"Predict", "Break it", "What you now know"} <= titles
    assert all(slide.lines <= max(slides.LINES, slides.CODE_LINES) for slide in made), "a slide is one screen"
    assert page.count("<section>") == len(made) >= 8


def test_slides_show_the_plots_of_the_lessons_page(tmp_path: Path, monkeypatch):
    lesson = Material.of(LESSONS["shaping"])
    code = [cell.source for cell in lesson.notebook().cells if cell.cell_type == "code"]
    figure = plots.figure()[0]._repr_html_()
    shown = [f'<div class="shown">{figure}</div>\n' if "plots.figure" in source else "" for source in code]
    monkeypatch.setattr(slides, "PAGES", tmp_path)
    assert slides.page(lesson).count("<svg") == 0, "there is no page yet"
    path = tmp_path / f"{lesson.row.stem}.html"
    path.write_text(pages.page(lesson.row, lesson.text, shown), encoding="utf-8")
    assert slides.page(lesson).count("<svg") == sum("plots.figure" in source for source in code) > 0
    path.write_text("the page of another text", encoding="utf-8")
    assert slides.page(lesson).count("<svg") == 0


@lessons
def test_an_assignment_starts_as_the_lesson_does_and_its_test_is_the_check(lesson: Material):
    made = assignments.assignment(lesson)
    nbformat.validate(made)
    marked = [cell for cell in made.cells if "nbgrader" in cell.metadata]
    ids = [cell.metadata.nbgrader.grade_id for cell in marked]
    assert len(ids) == len(set(ids)) == 2 * len(answers(lesson.row))
    assert sum(cell.metadata.nbgrader.get("points", 0) for cell in marked) == lesson.points
    solutions = [cell for cell in marked if cell.metadata.nbgrader.solution]
    for cell, answer in zip(solutions, answers(lesson.row), strict=True):
        start, region = cell.source.split("### BEGIN SOLUTION\n")
        assert region == f"{answer.strip()}\n### END SOLUTION"
        assert not start.startswith("%%"), "the region would be written into the file"
    plain = {cell.source for cell in lesson.notebook().cells if "exercise" in tags(cell)}
    shown = {re.sub(r"\n?### BEGIN.*### END SOLUTION", "", cell.source, flags=re.S) for cell in made.cells}
    assert plain <= shown
    for cell in marked:
        if cell.metadata.nbgrader.grade:
            assert cell.metadata.nbgrader.locked
            assert f'check("{lesson.row.name}"' in cell.source and cell.source.endswith("assert verdict.done, verdict")


def test_a_test_cell_fails_with_the_hint_and_a_warning_costs_no_points(tmp_path: Path):
    lesson = Material.of(LESSONS["shaping"])
    test = assignments.graded('check("shaping", payments)')
    warns = "import numpy as np, warnings\ndef payments(phi, gamma):\n    warnings.warn('slow')\n"
    with Reader(tmp_path) as reader:
        reader.run(warns + "    return gamma * np.asarray(phi)[1:] - np.asarray(phi)[:-1]")
        assert reader.run(test) == []
        reader.run("def payments(phi, gamma):\n    return phi[1:]")
        with pytest.raises(Exception, match=r"Not yet: .*Pay for the change"):
            reader.run(test)
    assert lesson.points == POINTS


def test_a_check_that_does_not_end_with_check_is_no_test():
    assert assignments.graded('answer = 1\ncheck("ppo", answer)').startswith("answer = 1\n\nimport warnings")
    with pytest.raises(ValueError, match=r"must end with check\(\.\.\.\), got 'print\(1\)'"):
        assignments.graded("print(1)")


def test_students_get_notebooks_without_answers(tmp_path: Path):
    with zipfile.ZipFile(bundles.students(tmp_path)) as archive:
        files = {name.removeprefix("dshq-lessons/"): archive.read(name) for name in archive.namelist()}
    assert set(files) == {"README.txt", *(f"{row.stem}.ipynb" for row in LESSONS.values())}
    for row in LESSONS.values():
        assert files[f"{row.stem}.ipynb"] == (FOLDER / f"{row.stem}.ipynb").read_bytes()
        source = "\n".join(cell.source for cell in nbformat.reads(files[f"{row.stem}.ipynb"].decode(), 4).cells)
        assert [answer for answer in answers(row) if answer.strip() in source] == []


def test_the_offline_lessons_need_nothing_beside_them(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="run `make lessons`"):
        bundles.offline(tmp_path, tmp_path)
    for name in ("index.html", "learner.js", *SHARED):
        (tmp_path / name).write_text("")
    for row in LESSONS.values():
        link = f'<a href="../../notebooks/{row.stem}.ipynb" download>'
        (tmp_path / f"{row.stem}.html").write_text(f"{link}<link href='widget.css'>")
    with zipfile.ZipFile(bundles.offline(tmp_path, tmp_path)) as archive:
        archive.extractall(tmp_path / "room")
    room = tmp_path / "room" / "dshq-lessons-offline"
    assert "Unpack this file" in (room / "README.txt").read_text()
    for row in LESSONS.values():
        (link,) = re.findall(r'href="([^"]+)"', (room / f"{row.stem}.html").read_text())
        assert (room / link).read_bytes() == (FOLDER / f"{row.stem}.ipynb").read_bytes()


@pytest.mark.parametrize("builder", [SdistBuilder, WheelBuilder])
def test_neither_answers_nor_keys_get_into_a_package(builder):
    config = builder(str(ROOT)).config
    packed = {path.relative_path.replace("\\", "/") for path in builder(str(ROOT)).recurse_included_files()}
    assert any(path.endswith("lessons/table.py") for path in packed), "the rules of the package were read"
    assert [path for path in packed if re.search(r"^tests/lessons/|(^|/)instructor/(?!.*\.(py|css)$)", path)] == []
    known = {answer.strip() for row in LESSONS.values() for answer in answers(row)}
    assert len(known) > len(LESSONS)
    for path in packed:
        if path.endswith((".ipynb", ".md", ".py")) and (ROOT / path).is_file():
            text = (ROOT / path).read_text(encoding="utf-8")
            assert [answer for answer in known if answer in text] == [], path
    assert not config.include_path("instructor/keys/01.ipynb", explicit=False)


def test_git_ignores_what_is_written_for_the_instructor():
    assert "/instructor/" in (ROOT / ".gitignore").read_text().splitlines()
    assert ANSWERS.is_relative_to(ROOT / "tests" / "lessons")


def test_the_syllabus_has_every_lesson_and_its_table_is_that_of_now():
    page = syllabus.PAGE.read_text(encoding="utf-8")
    assert page == syllabus.written(page), "run `python -m tools.instructor.syllabus`"
    plan, rubric = page[page.index("## Twelve weeks") : page.index("## Grades")], page[page.index("## Grades") :]
    for name in LESSONS:
        assert f"`{name}`" in plan and f"| `{name}` |" in rubric
    with pytest.raises(ValueError, match="must have the lines"):
        syllabus.written("# Syllabus")
