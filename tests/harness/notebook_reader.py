"""Somebody who works through a lesson: runs its cells in a kernel, and knows the answers."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from dshq_widget.lessons import Lesson

ANSWERS = Path(__file__).parents[1] / "lessons" / "answers"
CELL_SECONDS = 300
"""A cell may take this long on a busy machine that never compiled anything."""


def tags(cell: nbformat.NotebookNode) -> list[str]:
    """What a cell is marked as: "exercise", "check", "wait"."""
    return cell.metadata.get("tags", [])


def chosen(cell: nbformat.NotebookNode) -> str:
    """A cell's code as it is run. A `wait` cell waits for training or stops it: its code is what its comments say."""
    return re.sub(r"(?m)^# ", "", cell.source) if "wait" in tags(cell) else cell.source


def answers(lesson: Lesson) -> list[str]:
    """The reference answers to a lesson's exercises, in order."""
    path = ANSWERS / f"{lesson.module}.py"
    parts = path.read_text(encoding="utf-8").split("# %%\n") if path.exists() else []
    return [part for part in parts if part.strip()]


class Reader:
    """`with Reader(folder) as reader:` runs cells in one kernel, started in `folder`."""

    def __init__(self, folder: Path):
        blank = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell()])
        self._client = NotebookClient(blank, timeout=CELL_SECONDS, resources={"metadata": {"path": str(folder)}})
        self._kernel = self._client.setup_kernel()

    def __enter__(self) -> Reader:
        self._kernel.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._kernel.__exit__(*error)  # type: ignore[arg-type]

    def run(self, source: str) -> list[nbformat.NotebookNode]:
        """Run code as a cell; returns its outputs, raises CellExecutionError."""
        cell = nbformat.v4.new_code_cell(source)
        self._client.execute_cell(cell, 0)
        return cell.outputs

    def said(self, source: str) -> str:
        """Run code as a cell; returns what it printed."""
        return "".join(output.text for output in self.run(source) if output.get("name") == "stdout")

    def is_done(self, check: str) -> bool:
        """Run the code of a check; whether it finds the exercise done. The verdict is what its cell shows."""
        self.run(check)
        done, verdict = self.said("print(Out[len(In) - 2].done, repr(Out[len(In) - 2]))").split(" ", 1)
        assert verdict.startswith("Done: " if done == "True" else "Not yet: ")
        return done == "True"
