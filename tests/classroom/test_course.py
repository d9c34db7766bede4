"""A class from nothing, as docs/classroom/instructor.md says it: the commands are taken from that page.

Two students on a real hub fetch an assignment on their own servers; one submits the right answer and one the cell as it
was. Then the instructor collects, grades and exports.
"""

import csv
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("jupyterhub", reason="pip install 'dshq-widget[hub]'")
pytest.importorskip("nbgrader", reason="pip install 'dshq-widget[instructor]'")

from dshq_widget.classroom import demo, demo_course
from dshq_widget.classroom.demo import Hub, HubError
from dshq_widget.lessons import LESSONS
from tests.harness.hub import ask, start
from tests.harness.notebook_reader import answers
from tools.instructor import assignments
from tools.instructor.lessons import POINTS, Material

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "classroom" / "instructor.md").read_text(encoding="utf-8")
LESSON = LESSONS["shaping"]
ROSTER = re.search(r"```\n(id,name,email\n.*?)```", PAGE, re.S)[1]
SECONDS = 600


def commands(heading: str) -> list[list[str]]:
    """The commands below a heading of the page."""
    block = re.search(rf"^### {heading}\n+```\n(.*?)```", PAGE, re.S | re.M)
    assert block, f"the page has no commands below {heading!r}"
    return [line.split() for line in block[1].splitlines()]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    try:
        demo.proxy_command()
    except HubError as missing:
        pytest.skip(str(missing))
    with Hub(tmp_path_factory.mktemp("hub"), cpu=1.0) as running:
        yield running


class Instructor:
    """`prof` in a terminal of the hub."""

    def __init__(self, hub: Hub):
        self.folder = hub.folder / "home" / demo.INSTRUCTOR / "dshq-course"
        assignments.write(self.folder, [Material.of(LESSON)])
        (self.folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
        self._environment = {
            **os.environ,
            "JUPYTERHUB_USER": demo.INSTRUCTOR,
            "JUPYTER_CONFIG_PATH": str(hub.folder / demo_course.FOLDER),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        }

    def types(self, heading: str) -> str:
        """Run the commands below a heading; returns all that they said."""
        said = ""
        for program, *arguments in commands(heading):
            command = [sys.executable, "-m", {"dshq": "dshq_widget.cli"}.get(program, program), *arguments]
            done = subprocess.run(
                command, cwd=self.folder, env=self._environment, capture_output=True, text=True, timeout=SECONDS
            )
            assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
            said += done.stdout + done.stderr
        return said


class Student:
    """Somebody in JupyterLab: the requests that its Assignment List sends."""

    def __init__(self, hub: Hub, name: str):
        self.name = name
        self._token = hub.ask("POST", f"/users/{name}/tokens", {"note": "test"})["token"]
        start(hub, name)
        self._server = f"{hub.url}/user/{name}"

    def listed(self) -> dict[str, str]:
        found = ask(f"{self._server}/assignments?course_id=dshq", self._token)
        assert found["success"], found
        return {one["assignment_id"]: one["status"] for one in found["value"]}

    def presses(self, button: str) -> None:
        body = {"course_id": "dshq", "assignment_id": LESSON.name}
        assert ask(f"{self._server}/assignments/{button}", self._token, "POST", body)["success"]

    def notebook(self) -> nbformat.NotebookNode:
        path = f"{self._server}/api/contents/{LESSON.name}/{LESSON.stem}.ipynb"
        return nbformat.from_dict(ask(path, self._token)["content"])

    def saves(self, made: nbformat.NotebookNode) -> None:
        path = f"{self._server}/api/contents/{LESSON.name}/{LESSON.stem}.ipynb"
        ask(path, self._token, "PUT", {"type": "notebook", "format": "json", "content": made})


def exercise(made: nbformat.NotebookNode) -> nbformat.NotebookNode:
    return next(cell for cell in made.cells if cell.metadata.get("nbgrader", {}).get("solution"))


@pytest.mark.slow
def test_a_class_from_nothing(hub: Hub):
    prof = Instructor(hub)
    prof.types("Release")
    released = prof.folder / "release" / LESSON.name / f"{LESSON.stem}.ipynb"
    (answer,) = answers(LESSON)
    assert answer.splitlines()[-1].strip() not in released.read_text(encoding="utf-8")

    ada, ben = (Student(hub, name) for name in demo.STUDENTS[:2])
    for student in (ada, ben):
        assert student.listed() == {LESSON.name: "released"}
        student.presses("fetch")
        assert student.listed() == {LESSON.name: "fetched"}
    right = ada.notebook()
    assert exercise(right).source.startswith("def payments(phi, gamma):"), "it starts as the lesson does"
    exercise(right).source = answer
    ada.saves(right)
    for student in (ada, ben):
        student.presses("submit")

    prof.types("Collect and grade")
    said = prof.types("Export")
    with (prof.folder / "course.csv").open() as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    column = f"{LESSON.name} (of {POINTS})"
    assert {name: row[column] for name, row in rows.items()} == {"ada": "10", "ben": "0"}
    assert "not in the roster" not in said and "without a submission" not in said
    ben.presses("fetch_feedback")
    (feedback,) = (hub.folder / "home" / "ben" / LESSON.name).rglob("*.html")
    assert "Not yet:" in feedback.read_text(encoding="utf-8"), "the hint of the check"
