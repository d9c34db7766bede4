"""Instructor variants, `notes/NN_name.ipynb`: the answer key with notes for whoever teaches the lesson."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat

from dshq_widget.lessons import Lesson
from tests.harness.lesson_attempts import attempts, verdict
from tests.harness.notebook_reader import tags
from tools.instructor.keys import key
from tools.instructor.lessons import POINTS, Material

_FIRST = """## For the instructor

**Objective.** {idea}

**Afterwards students can explain:**

{objectives}

**Time.** The lesson says {minutes} minutes, which is reading and running. For a class plan {planned}: that is twice as
much, a rule of thumb that was not measured.

**Points.** {each} for each exercise, {points} in all. All or nothing: the notebook's own check decides.

**Before the class.** Run all cells once on a student's account. The first run compiles rules and takes longer.
"""


def variant(lesson: Material) -> nbformat.NotebookNode:
    """The answer key with a note at its head and one behind each check: what students usually get wrong."""
    made = key(lesson)
    checks = [place for place, cell in enumerate(made.cells) if "check" in tags(cell)]
    for place, slips in reversed(list(zip(checks, mistakes(lesson.row), strict=True))):
        note = nbformat.v4.new_markdown_cell(_table(slips), id=f"{made.cells[place].id}-notes")
        made.cells.insert(place + 1, note)
    objectives = "\n".join(f"* {line}" for line in lesson.objectives)
    first = _FIRST.format(
        idea=lesson.row.idea,
        objectives=objectives,
        minutes=lesson.minutes,
        planned=f"{2 * lesson.minutes} minutes",
        points=lesson.points,
        each=POINTS,
    )
    made.cells.insert(1, nbformat.v4.new_markdown_cell(first, id="instructor"))
    return made


def mistakes(row: Lesson) -> list[dict[str, str]]:
    """For each exercise: a usual mistake, and what the check says to it. Mistakes with one hint share a line."""
    found = []
    for tried in attempts(row).values():
        by_hint: dict[str, list[str]] = {}
        for name, answer in tried.wrong.items():
            with TemporaryDirectory() as folder:
                said = verdict(row, answer, Path(folder))
            by_hint.setdefault(" ".join(said.missing), []).append(name)
        found.append({", ".join(names): hint for hint, names in by_hint.items()})
    return found


def _table(slips: dict[str, str]) -> str:
    rows = "".join(f"| {_cell(name)} | {_cell(hint)} |\n" for name, hint in slips.items())
    return (
        "**What students usually get wrong.** The check says what is missing; ask for that sentence before you "
        f"answer a question.\n\n| the answer | what the check says |\n|---|---|\n{rows}"
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
