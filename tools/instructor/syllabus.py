"""Writes the table of lessons in docs/classroom/syllabus.md: `python -m tools.instructor.syllabus`; a test holds it.

Minutes are those of the lessons' texts, points those of the assignments.
"""

from __future__ import annotations

from pathlib import Path

from dshq_widget.lessons import LESSONS
from tests.harness.notebook_reader import answers
from tools.instructor.lessons import Material

PAGE = Path(__file__).parents[2] / "docs" / "classroom" / "syllabus.md"
BEGIN, END = "<!-- lessons: python -m tools.instructor.syllabus -->\n", "<!-- /lessons -->\n"


def table() -> str:
    """A row for each lesson of the table, in its order."""
    rows = ["| lesson | name | objective | minutes | in class | points |\n|---|---|---|---|---|---|\n"]
    for row in LESSONS.values():
        lesson = Material.of(row)
        exercises = len(answers(row))
        points = f"{lesson.points}" + (f" ({exercises} exercises)" if exercises > 1 else "")
        rows.append(
            f"| {row.title} | `{row.name}` | {row.idea} | {lesson.minutes} | {2 * lesson.minutes} | {points} |\n"
        )
    return "".join(rows)


def written(page: str) -> str:
    """The page with the table of now. Raises ValueError where its place is not marked."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} must have the lines {BEGIN.strip()!r} and {END.strip()!r}")
    return f"{before}{begin}\n{table()}\n{end}{after}"


def main() -> None:
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
