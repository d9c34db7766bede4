"""A class from nothing, as docs/classroom/instructor.md says it: the commands are taken from that page."""

import asyncio
import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("jupyterhub", reason="pip install 'dshq-widget[hub]'")
pytest.importorskip("nbgrader", reason="pip install 'dshq-widget[instructor]'")

from tornado.httpclient import HTTPRequest
from tornado.websocket import websocket_connect

from dshq_widget.classroom.hub import demo
from dshq_widget.classroom.hub.demo import Hub
from dshq_widget.lessons import LESSONS
from tests.harness.hub import ask, proxy_or_skip, start
from tests.harness.notebook_reader import answers
from tools.instructor import assignments
from tools.instructor.lessons import POINTS, Material

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "classroom" / "instructor.md").read_text(encoding="utf-8")
LESSON = LESSONS["shaping"]
ROSTER = re.search(r"```\n(id,name,email\n.*?)```", PAGE, re.S)[1]
SECONDS = 600


def commands(heading: str) -> list[str]:
    """The commands below a heading of the page."""
    block = re.search(rf"^### {heading}\n+```\n(.*?)```", PAGE, re.S | re.M)
    assert block, f"the page has no commands below {heading!r}"
    return block[1].splitlines()


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    proxy_or_skip()
    with Hub(tmp_path_factory.mktemp("hub"), cpu=1.0) as running:
        yield running


class Instructor:
    """`prof` in a terminal of JupyterLab, in the course's folder."""

    def __init__(self, hub: Hub):
        self.folder = hub.folder / "home" / demo.INSTRUCTOR / "dshq-course"
        assignments.write(self.folder, [Material.of(LESSON)])
        (self.folder / "roster.csv").write_text(ROSTER, encoding="utf-8")
        self._token = hub.ask("POST", f"/users/{demo.INSTRUCTOR}/tokens", {"note": "test"})["token"]
        start(hub, demo.INSTRUCTOR)
        server = f"{hub.url}/user/{demo.INSTRUCTOR}"
        terminal = ask(f"{server}/api/terminals", self._token, "POST", {})["name"]
        self._address = f"{server}/terminals/websocket/{terminal}".replace("http", "ws", 1)
        self._typed = 0
        self.types("cd ~/dshq-course")

    def works(self, heading: str) -> str:
        """Type the commands below a heading of the page; returns all that they said."""
        return "".join(self.types(line) for line in commands(heading))

    def types(self, line: str) -> str:
        """Type a line and wait for its end, which has to be a success; returns what the terminal shows of it."""
        self._typed += 1
        return asyncio.run(asyncio.wait_for(self._run(line, self._typed), SECONDS))

    async def _run(self, line: str, number: int) -> str:
        request = HTTPRequest(self._address, headers={"Authorization": f"token {self._token}"})
        socket = await websocket_connect(request)
        await socket.write_message(json.dumps(["stdin", f"{line}; echo line {number}'' ended with $?\r"]))
        shown, end = "", None
        while end is None:
            kind, *rest = json.loads(await socket.read_message())
            shown += rest[0] if kind == "stdout" else ""
            end = re.search(rf"line {number} ended with (\d+)", shown)  # the echo of what was typed has quotes in it
        socket.close()
        assert end[1] == "0", f"{line}:\n{shown}"
        return shown


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
    prof.works("Release")
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

    prof.works("Collect and grade")
    said = prof.works("Export")
    with (prof.folder / "course.csv").open() as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    column = f"{LESSON.name} (of {POINTS})"
    assert {name: row[column] for name, row in rows.items()} == {"ada": "10", "ben": "0"}
    assert "not in the roster" not in said and "without a submission" not in said
    ben.presses("fetch_feedback")
    (feedback,) = (hub.folder / "home" / "ben" / LESSON.name).rglob("*.html")
    assert "Not yet:" in feedback.read_text(encoding="utf-8"), "the hint of the check"
