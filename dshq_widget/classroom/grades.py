"""Grades of a class: the scores that `nbgrader export` wrote, one row for each student of a roster.

A roster is a CSV file with the columns id, name and email. The id is the student's name on the hub, which is what
nbgrader knows; a score that has no such id is looked for by email. Upper and lower case are the same in both, because
JupyterHub writes names in lower case.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
from collections.abc import Iterator
from pathlib import Path

from dshq_widget.classroom.spreadsheet import plain

ROSTER = ("id", "name", "email")
"""Columns of a roster; others are ignored."""
SCORES = ("assignment", "student_id", "timestamp", "score", "max_score")
"""Columns of nbgrader's export (`nbgrader.plugins.export`) that are read."""


class GradesError(ValueError):
    """A file that cannot be used. The message says which row and column, and what is wanted there."""


@dataclasses.dataclass(frozen=True)
class Student:
    """One row of the roster."""

    id: str
    name: str
    email: str


@dataclasses.dataclass(frozen=True)
class Score:
    """What nbgrader gave somebody for one assignment."""

    student: str
    """nbgrader's student id."""
    assignment: str
    points: float | None
    """None where nothing was submitted."""
    most: float
    """Points of a perfect answer."""


@dataclasses.dataclass(frozen=True)
class Grades:
    """The roster and what belongs to it."""

    students: list[Student]
    most: dict[str, float]
    """Assignment -> points of a perfect answer, in the order of the export."""
    points: dict[tuple[str, str], float]
    """(id in the roster, assignment) -> points, of what was submitted."""
    strangers: list[str]
    """Ids that have scores and are not in the roster."""
    absent: list[Student]
    """Students who submitted nothing."""

    def remarks(self) -> list[str]:
        """What does not match, as sentences."""
        found = []
        if self.strangers:
            found.append(
                f"In the scores but not in the roster: {', '.join(self.strangers)}. Their scores are left out; add "
                "them to the roster, or correct their id there."
            )
        if self.absent:
            names = ", ".join(f"{student.name} ({student.id})" for student in self.absent)
            found.append(f"In the roster but without a submission: {names}.")
        return found


def read_roster(path: Path) -> list[Student]:
    """The students of a roster, in its order. Raises GradesError."""
    students: list[Student] = []
    seen: dict[str, int] = {}
    for row, cells in _rows(path, ROSTER):
        for column in ROSTER:
            if not cells[column]:
                raise GradesError(f"{path}, row {row}, column {column}: it is empty; every student needs one")
        if "@" not in cells["email"]:
            raise GradesError(
                f"{path}, row {row}, column email: wanted an address such as ada@example.org, got {cells['email']!r}"
            )
        for column in ("id", "email"):
            key = cells[column].casefold()
            if key in seen:
                raise GradesError(
                    f"{path}, row {row}, column {column}: {cells[column]!r} is already in row {seen[key]}; "
                    "every student needs one of their own"
                )
        seen |= {cells["id"].casefold(): row, cells["email"].casefold(): row}
        students.append(Student(cells["id"], cells["name"], cells["email"]))
    if not students:
        raise GradesError(f"{path}: it has no student; write one row for each below the columns {', '.join(ROSTER)}")
    return students


def read_scores(path: Path) -> list[Score]:
    """What `nbgrader export` wrote. Raises GradesError."""
    found = []
    for row, cells in _rows(path, SCORES):
        points, most = (_number(path, row, column, cells[column]) for column in ("score", "max_score"))
        nothing = not cells["timestamp"] and points == 0  # nbgrader's export has a score of 0 for what is not there
        found.append(Score(cells["student_id"], cells["assignment"], None if nothing else points, most))
    return found


def matched(students: list[Student], scores: list[Score]) -> Grades:
    """The scores of those who are in the roster. Raises GradesError if two ids of nbgrader are one student."""
    by_key = {key.casefold(): student for student in students for key in (student.email, student.id)}
    points: dict[tuple[str, str], float] = {}
    came: dict[tuple[str, str], str] = {}
    strangers: dict[str, None] = {}
    for score in scores:
        student = by_key.get(score.student.casefold())
        if student is None:
            strangers.setdefault(score.student)
        elif score.points is not None:
            place = student.id, score.assignment
            if place in points:
                raise GradesError(
                    f"the ids {came[place]!r} and {score.student!r} are both {student.name} in the roster, and both "
                    f"have a score for {score.assignment!r}; remove one with `nbgrader db student remove`"
                )
            points[place], came[place] = score.points, score.student
    handed_in = {student for student, _ in points}
    absent = [student for student in students if student.id not in handed_in]
    return Grades(students, {score.assignment: score.most for score in scores}, points, list(strangers), absent)


def as_csv(grades: Grades) -> str:
    """A row for each student of the roster: its columns, one for each assignment with its most points in the title,
    and their sum. A cell is empty where nothing was submitted; the sum counts it as 0.
    """
    text = io.StringIO()
    writer = csv.writer(text)
    titles = [plain(f"{name} (of {most:g})") for name, most in grades.most.items()]
    writer.writerow([*ROSTER, *titles, f"total (of {sum(grades.most.values()):g})"])
    for student in grades.students:
        mine = [grades.points.get((student.id, name)) for name in grades.most]
        cells = ["" if points is None else f"{points:g}" for points in mine]
        total = sum(points or 0.0 for points in mine)
        writer.writerow([plain(student.id), plain(student.name), plain(student.email), *cells, f"{total:g}"])
    return text.getvalue()


def _rows(path: Path, wanted: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Row number as a spreadsheet counts, the titles being row 1, and its cells by column; empty rows are left out."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # spreadsheets write a byte order mark
    except UnicodeDecodeError as error:
        raise GradesError(f"{path}: it must be UTF-8 text; save it as 'CSV UTF-8' in the spreadsheet") from error
    except OSError as error:
        raise GradesError(f"{path}: cannot read it: {error.strerror or error}") from error
    first = text.partition("\n")[0]
    separator = ";" if first.count(";") > first.count(",") else ","
    rows = _read(path, text, separator)
    titles = [title.strip().casefold() for title in next(rows, [])]
    missing = [title for title in wanted if title not in titles]
    if missing:
        raise GradesError(
            f"{path}, row 1: wanted the columns {', '.join(wanted)}; "
            f"without {', '.join(missing)}, got {first.strip()!r}"
        )
    for number, row in enumerate(rows, start=2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(titles):
            raise GradesError(
                f"{path}, row {number}: wanted {len(titles)} cells as in row 1, got {len(row)}; a cell that has a "
                f"{separator!r} in it needs quotes around it"
            )
        yield number, {title: cell.strip() for title, cell in zip(titles, row, strict=True)}


def _read(path: Path, text: str, separator: str) -> Iterator[list[str]]:
    """The rows of a CSV file. Raises GradesError for a cell of more letters than are read, 131,072: Python's limit."""
    rows = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        yield from rows
    except csv.Error as error:
        raise GradesError(f"{path}, line {rows.line_num}: it cannot be read ({error})") from error


def _number(path: Path, row: int, column: str, text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise GradesError(f"{path}, row {row}, column {column}: wanted a number of points, got {text!r}")
    return found
