"""A lesson as the instructor's files need it: its cells, the answers to its exercises, what its text says of itself."""

from __future__ import annotations

import dataclasses
import re

import nbformat

from dshq_widget.lessons import Lesson
from tests.harness.notebook_reader import answers, tags
from tools.notebooks import SOURCE, notebook

POINTS = 10
"""What each exercise is worth."""
_TIME = re.compile(r"\*You need about (\d+) minutes")
_KNOWN = re.compile(r"^## What you now know\n(.*?)(?=^(?:## |\*\*Next))", re.M | re.S)


@dataclasses.dataclass(frozen=True)
class Material:
    """One lesson and its answers."""

    row: Lesson
    text: str
    """The lesson's text, `notebooks/source/NN_name.md`."""

    @classmethod
    def of(cls, row: Lesson) -> Material:
        """The lesson of a row of the table."""
        return cls(row, (SOURCE / f"{row.stem}.md").read_text(encoding="utf-8"))

    @property
    def minutes(self) -> int:
        """Reading time in minutes, as the lesson says it. Raises ValueError where it does not."""
        found = _TIME.search(self.text)
        if found is None:
            raise ValueError(f"the text of lesson {self.row.name!r} must say '*You need about N minutes'")
        return int(found[1])

    @property
    def objectives(self) -> list[str]:
        """The points of "What you now know", as Markdown."""
        found = _KNOWN.search(notebook_text(self.notebook()))
        lines = re.findall(r"^[*-] (.+(?:\n  .+)*)", found[1], re.M) if found else []
        return [" ".join(line.split()) for line in lines]

    @property
    def points(self) -> int:
        """Points of all exercises."""
        return POINTS * len(answers(self.row))

    def notebook(self) -> nbformat.NotebookNode:
        """The lesson's notebook, as students get it."""
        return notebook(self.text)

    def exercises(self, made: nbformat.NotebookNode) -> list[tuple[int, str]]:
        """Index in `made.cells` and reference answer of each exercise. Raises ValueError where their numbers differ."""
        places = [place for place, cell in enumerate(made.cells) if "exercise" in tags(cell)]
        known = answers(self.row)
        if len(places) != len(known):
            raise ValueError(
                f"lesson {self.row.name!r} has {len(places)} exercises and {len(known)} reference answers; "
                f"write one answer for each in tests/lessons/answers/{self.row.module}.py"
            )
        return list(zip(places, known, strict=True))


def notebook_text(made: nbformat.NotebookNode) -> str:
    """All prose of a notebook, cell after cell."""
    return "\n\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
