"""A course for nbgrader, `nbgrader/`: each lesson as an assignment of its own, named as the lesson is.

The exercise is a solution cell: the lesson's starting point, then the reference answer in a solution region, which
`nbgrader generate_assignment` replaces by one line. The check becomes an autograded test: nbgrader gives its points
when it ends without an error and writes nothing to stderr.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import nbformat

from tests.harness.notebook_reader import tags
from tools.instructor.lessons import POINTS, Material

SCHEMA = 3
"""Version of nbgrader's cell metadata."""
_REGION = "### BEGIN SOLUTION\n{answer}\n### END SOLUTION"
_TEST = """{before}import warnings

from dshq_widget.lessons import check

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # nbgrader gives no points to a cell that writes to stderr
    verdict = {check}
assert verdict.done, verdict"""
CONFIGURATION = """\"\"\"nbgrader's configuration of the course. Commands of nbgrader are run in this folder.\"\"\"

import os

c = get_config()
c.CourseDirectory.course_id = "dshq"
c.CourseDirectory.root = os.path.dirname(os.path.abspath(__file__))
c.CourseDirectory.student_id = "*"  # everybody's, also where the hub's configuration names one student
c.CourseDirectory.db_url = f"sqlite:///{c.CourseDirectory.root}/gradebook.db"
c.ClearSolutions.code_stub = {"python": "# Change the code of the exercise until its check ends without an error."}
c.ExecutePreprocessor.timeout = 600  # seconds for one cell: the first one compiles rules
os.environ.setdefault("DSHQ_LESSON_SECONDS", "2")  # a submission that is graded need not train for long

from nbgrader.converters import Autograde
from nbgrader.preprocessors import DeduplicateIds, Execute, OverwriteCells

from dshq_widget.lessons.executing import ExecuteWithoutSecrets
from dshq_widget.lessons.grading import Afresh
from dshq_widget.lessons.marks import KnownMarks, OneMarkEach

# What a student's notebook says of its own cells ends nobody else's grading.
cleaning = list(Autograde.sanitize_preprocessors.default())
ours = {DeduplicateIds: OneMarkEach, OverwriteCells: KnownMarks}
c.Autograde.sanitize_preprocessors = [ours.get(step, step) for step in cleaning]

# Whatever runs in the student's kernel can change the check there. So it counts only if it is done once more, on the
# answers, in a process of its own. Neither has your tokens.
steps = list(Autograde.autograde_preprocessors.default())
at = steps.index(Execute)
steps[at : at + 1] = [ExecuteWithoutSecrets, Afresh]
c.Autograde.autograde_preprocessors = steps

# What one student has put into the exchange keeps nobody else's from being collected, and takes nobody's place.
c.ExchangeFactory.collect = "dshq_widget.lessons.collecting.CollectOneByOne"

# A student's notebook is shown without its scripts: feedback and formgrader are pages of your own server.
c.HTMLExporter.sanitize_html = True
c.HTMLExporter.filters = {
    "markdown2html": "dshq_widget.lessons.feedback.markdown",
    "clean_html": "dshq_widget.lessons.feedback.clean",
    "highlight_code": "dshq_widget.lessons.feedback.code",
    "ansi2html": "dshq_widget.lessons.feedback.printed",
}
c.HTMLExporter.preprocessors = [
    "dshq_widget.lessons.feedback.WithoutMetadata",
    "dshq_widget.lessons.feedback.NotTooLong",
]
"""


def assignment(lesson: Material) -> nbformat.NotebookNode:
    """The source version of a lesson, as `nbgrader generate_assignment` reads it."""
    made = lesson.notebook()
    for number, (place, answer) in reversed(list(enumerate(lesson.exercises(made), start=1))):
        name = f"{lesson.row.name}-{number}"
        region = _REGION.format(answer=answer.strip())
        test = next(cell for cell in made.cells[place + 1 :] if "check" in tags(cell))
        test.source = graded(test.source)
        _mark(test, grade=True, locked=True, solution=False, grade_id=f"{name}-check", points=POINTS)
        exercise = made.cells[place]
        if exercise.source.startswith("%%"):  # it writes a file, whose text the region must not be
            exercise = nbformat.v4.new_code_cell(id=f"{exercise.id}-answer")
            exercise.source = region
            made.cells.insert(place + 1, exercise)
        else:
            exercise.source += f"\n{region}"
        _mark(exercise, grade=False, locked=False, solution=True, grade_id=name)
    return made


def graded(check: str) -> str:
    """The source of a check as a test, which fails with the check's hints. Raises ValueError if it ends otherwise."""
    last = ast.parse(check).body[-1]
    call = ast.get_source_segment(check, last)
    if not isinstance(last, ast.Expr) or call is None or not call.startswith("check("):
        raise ValueError(f"a check cell must end with check(...), got {check!r}")
    before = "\n".join(check.splitlines()[: last.lineno - 1])
    return _TEST.format(before=before and f"{before}\n\n", check=call)


def write(folder: Path, lessons: list[Material]) -> None:
    """Write the course folder: its configuration, and `source/NAME/NN_name.ipynb` for each lesson."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nbgrader_config.py").write_text(CONFIGURATION, encoding="utf-8")
    for lesson in lessons:
        target = folder / "source" / lesson.row.name / f"{lesson.row.stem}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(assignment(lesson), target)


def _mark(cell: nbformat.NotebookNode, **values: Any) -> None:
    cell.metadata["nbgrader"] = {"schema_version": SCHEMA, "task": False, "cell_type": "code", **values}
