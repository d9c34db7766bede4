"""Writes what an instructor needs to the folder `instructor/`, which is in no checkout and in no package.

`make instructor`, or `python -m tools.instructor`: answer keys, instructor variants, slides, a course for nbgrader, the
students' bundle, and from the pages of `make lessons` the lessons for a room without internet.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import nbformat

from dshq_widget.lessons import LESSONS
from tools.instructor import assignments, bundles, notes, slides
from tools.instructor.keys import key
from tools.instructor.lessons import Material

FOLDER = Path(__file__).parents[2] / "instructor"


def build(folder: Path, *, offline: bool = True) -> None:
    """Write everything under `folder`; without the pages if not `offline`. Raises FileNotFoundError without pages."""
    lessons = [Material.of(row) for row in LESSONS.values()]
    for name in ("keys", "notes", "slides"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for lesson in lessons:
        stem = lesson.row.stem
        nbformat.write(key(lesson), folder / "keys" / f"{stem}.ipynb")
        nbformat.write(notes.variant(lesson), folder / "notes" / f"{stem}.ipynb")
        (folder / "slides" / f"{stem}.html").write_text(slides.page(lesson), encoding="utf-8")
    assignments.write(folder / "nbgrader", lessons)
    bundles.students(folder)
    if offline:
        bundles.offline(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder to write to (default instructor)")
    parser.add_argument("--no-pages", action="store_true", help="leave out the zip of the pages of `make lessons`")
    options = parser.parse_args()
    try:
        build(options.out, offline=not options.no_pages)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{options.out}: keys, notes, slides, nbgrader, {bundles.STUDENTS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
