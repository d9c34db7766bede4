"""`dshq grades`: the scores of nbgrader as the grades of a roster."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dshq_widget.classroom import grades as classroom
from dshq_widget.cli import outputs
from dshq_widget.files import atomic


def grades(options: argparse.Namespace) -> dict[str, Any]:
    """Match the scores that nbgrader exported to a roster, and write the grades as CSV."""
    target = outputs.writable("--out", options.out, ".csv")
    found = classroom.matched(
        classroom.read_roster(Path(options.roster)),
        classroom.read_scores(Path(options.scores)),
    )
    with outputs.written("--out", options.out):
        atomic.write(target, classroom.as_csv(found).encode("utf-8"))
    if not options.json:
        print(f"{target}: {len(found.students)} students, {len(found.most)} assignments")
        for remark in found.remarks():
            print(remark)
    return {
        "out": str(target),
        "students": len(found.students),
        "assignments": list(found.most),
        "not_in_roster": found.strangers,
        "nothing_submitted": [student.id for student in found.absent],
    }
