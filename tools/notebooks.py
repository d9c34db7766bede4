"""Writes the lessons' notebooks, `notebooks/NN_name.ipynb`, from their texts, `notebooks/source/NN_name.md`.

The texts are jupytext's. `python -m tools.notebooks`, after every change of a text; a test holds them equal. Notebooks
have no outputs, and a cell's id is its place, so that a small change is a small difference.
"""

from __future__ import annotations

from pathlib import Path

import jupytext
import nbformat

from tools import quotes

FOLDER = Path(__file__).parent.parent / "notebooks"
SOURCE = FOLDER / "source"


def texts() -> list[Path]:
    """The lessons' texts in order."""
    return sorted(SOURCE.glob("[0-9][0-9]_*.md"))


def notebook_of(text: Path) -> Path:
    """The notebook that is made from a text."""
    return FOLDER / f"{text.stem}.ipynb"


def notebook(text: str) -> nbformat.NotebookNode:
    """The notebook of a lesson's text; its notes for the tests (`tools/quotes.py`) are left out."""
    made = jupytext.reads(quotes.without(text), fmt="md")
    made.nbformat, made.nbformat_minor = 4, 5
    made.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for place, cell in enumerate(made.cells):
        cell.id = f"cell-{place:02d}"
    return made


def written(text: str) -> str:
    """The same as the text of its file."""
    return nbformat.writes(notebook(text)) + "\n"


def main() -> None:
    for path in texts():
        target = notebook_of(path)
        made = written(path.read_text(encoding="utf-8"))
        if not target.exists() or target.read_text(encoding="utf-8") != made:
            target.write_text(made, encoding="utf-8")
            print(target)


if __name__ == "__main__":
    main()
