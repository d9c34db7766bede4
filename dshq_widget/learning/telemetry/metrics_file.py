"""Reads `metrics.csv` back. A metric's name is the flat one (`return_mean`) everywhere in Python; files and trackers,
which group by it, put the category before it (`ACTOR/return_mean`).
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from dshq_widget.files import reading
from dshq_widget.learning.telemetry.writers import CSV_NAME, LONGEST_LINE, flat_name


def read_metrics(path: str | os.PathLike[str]) -> list[dict[str, float]]:
    """The rows of a `metrics.csv`, or of the one in a folder (`log_dir`), oldest first, by flat name, and `time` in
    seconds since 1970. Values that a row lacks are left out. Columns may have flat names or CATEGORY/name.

    Raises FileNotFoundError, or ValueError for a file that is not a table of numbers.
    """
    file = Path(os.path.expanduser(path))
    if file.is_dir():
        file = file / CSV_NAME
    with open(file, newline="", encoding="utf-8", opener=reading.regular) as table:
        lines = csv.reader(_lines(table))
        rows, names = [], list[str]()
        try:
            names = [flat_name(name) for name in next(lines, [])]
            for line in lines:
                rows.append({name: float(cell) for name, cell in zip(names, line, strict=True) if cell != ""})
        except (ValueError, csv.Error) as error:
            raise ValueError(
                f"{str(file)!r} line {lines.line_num}: wanted {len(names)} numbers or empty cells: {error}"
            ) from None
    return rows


def _lines(table: TextIO) -> Iterator[str]:
    """Its lines. Raises ValueError for one that is longer than any: a file of holes may have a line of a terabyte."""
    while line := table.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise ValueError(f"it has {LONGEST_LINE:,} letters or more")
        yield line
