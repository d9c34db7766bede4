"""Answer keys, `keys/NN_name.ipynb`: each lesson with the reference answers in its exercises."""

from __future__ import annotations

import nbformat

from tools.instructor.lessons import Material


def key(lesson: Material) -> nbformat.NotebookNode:
    """The lesson's notebook, worked through. A cell that writes a file stays, and the answer follows it."""
    made = lesson.notebook()
    for place, answer in reversed(lesson.exercises(made)):
        if made.cells[place].source.startswith("%%"):
            cell = nbformat.v4.new_code_cell(answer.strip(), id=f"{made.cells[place].id}-answer")
            made.cells.insert(place + 1, cell)
        else:
            made.cells[place].source = answer.strip()
    return made
