"""Writes the lessons' notebooks, `notebooks/NN_name.ipynb`, from their texts, `notebooks/source/NN_name.md`.

The texts are jupytext's. `python -m tools.notebooks`, after every change of a text or a still; a test holds them equal.
The only output is the still (`tools/stills.py`) of the first match. A cell's id is its place, so that a small change is
a small difference.
"""

from __future__ import annotations

import base64
from pathlib import Path

import jupytext
import nbformat

from dshq_widget.widget.still import SENTENCE
from tools import quotes

FOLDER = Path(__file__).parent.parent / "notebooks"
SOURCE = FOLDER / "source"
STILLS = Path(__file__).parent.parent / "docs" / "images" / "lessons"
ALT = "A saved picture of this lesson's match"


def texts() -> list[Path]:
    """The lessons' texts in order."""
    return sorted(SOURCE.glob("[0-9][0-9]_*.md"))


def notebook_of(text: Path) -> Path:
    """The notebook that is made from a text."""
    return FOLDER / f"{text.stem}.ipynb"


def still_of(text: Path) -> Path:
    """The picture of a lesson's match, by the number of its text; `python -m tools.stills` takes it."""
    return STILLS / f"{text.stem[:2]}.png"


def notebook(text: str) -> nbformat.NotebookNode:
    """The notebook of a lesson's text, without outputs; its notes for the tests (`tools/quotes.py`) are left out."""
    made = jupytext.reads(quotes.without(text), fmt="md")
    made.nbformat, made.nbformat_minor = 4, 5
    made.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for place, cell in enumerate(made.cells):
        cell.id = f"cell-{place:02d}"
    return made


def widget_cell(made: nbformat.NotebookNode) -> int:
    """Place in `made.cells` of the first cell that makes a match. Raises ValueError where none does."""
    for place, cell in enumerate(made.cells):
        if cell.cell_type == "code" and "DrillWidget(" in cell.source:
            return place
    raise ValueError("wanted a cell with DrillWidget(...) in the lesson, got none: every lesson shows a match")


def outputs(png: bytes) -> list[nbformat.NotebookNode]:
    """What the notebook keeps of a match: its picture, which needs no trust, and what to do. Running the cell replaces
    both.
    """
    picture = {"image/png": base64.b64encode(png).decode(), "text/plain": ALT}
    return [
        nbformat.v4.new_output("display_data", picture, metadata={"image/png": {"alt": ALT}}),
        nbformat.v4.new_output("display_data", {"text/html": f"<p>{SENTENCE}</p>", "text/plain": SENTENCE}),
    ]


def written(text: Path) -> str:
    """What the file of a text's notebook says, with the lesson's still once it was taken."""
    made, still = notebook(text.read_text(encoding="utf-8")), still_of(text)
    if still.exists():
        made.cells[widget_cell(made)].outputs = outputs(still.read_bytes())
    return nbformat.writes(made) + "\n"


def main() -> None:
    for path in texts():
        target = notebook_of(path)
        made = written(path)
        if not target.exists() or target.read_text(encoding="utf-8") != made:
            target.write_text(made, encoding="utf-8")
            print(target)


if __name__ == "__main__":
    main()
