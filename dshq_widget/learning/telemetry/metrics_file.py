"""Reads `metrics.csv` back. A metric's name is the flat one (`return_mean`) everywhere in Python; files and trackers,
which group by it, put the category before it (`ACTOR/return_mean`).
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

from dshq_widget.learning.telemetry.writers import CSV_NAME, flat_name


def read_metrics(path: str | os.PathLike[str]) -> list[dict[str, float]]:
    """The rows of a `metrics.csv`, or of the one in a folder (`log_dir`), oldest first, by flat name, and `time` in
    seconds since 1970. Values that a row lacks are left out. Columns may have flat names or CATEGORY/name.

    Raises FileNotFoundError, or ValueError for a file that is not a table of numbers.
    """
    file = Path(os.path.expanduser(path))
    if file.is_dir():
        file = file / CSV_NAME
    with file.open(newline="", encoding="utf-8") as table:
        lines = csv.reader(table)
        names = [flat_name(name) for name in next(lines, [])]
        rows = []
        for number, line in enumerate(lines, 2):
            try:
                rows.append({name: float(cell) for name, cell in zip(names, line, strict=True) if cell != ""})
            except ValueError as error:
                raise ValueError(
                    f"{str(file)!r} line {number}: wanted {len(names)} numbers or empty cells: {error}"
                ) from None
    return rows
