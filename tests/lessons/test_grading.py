"""Grades of honest answers: one student's notebook ends nobody else's grading."""

import copy
from typing import Any

import pytest

from dshq_widget.lessons import LESSONS
from tools.instructor import assignments
from tools.instructor.lessons import Material


def of(made: Any, name: str) -> int:
    """The place of the cell with that mark."""
    return next(k for k, cell in enumerate(made.cells) if cell.metadata.get("nbgrader", {}).get("grade_id") == name)


@pytest.mark.parametrize("mark", ["copied", {}, {"schema_version": 2}, {"schema_version": 4}, "text"])
def test_a_cell_that_was_copied_or_is_marked_otherwise_ends_nobodys_grading(mark: Any):
    """`nbgrader autograde` ended: "One or more notebooks in the assignment use an old version"; others got no grade."""
    pytest.importorskip("nbgrader", reason="pip install 'dshq-widget[instructor]'")
    from nbgrader.converters import Autograde
    from nbgrader.preprocessors import CheckCellMetadata, DeduplicateIds
    from traitlets.config import Config

    course = Config()
    exec(assignments.CONFIGURATION, {"get_config": lambda: course, "__file__": __file__})
    steps = Autograde(config=course).sanitize_preprocessors
    made = assignments.assignment(Material.of(LESSONS["shaping"]))
    other = copy.deepcopy(made.cells[of(made, "shaping-1")])
    other.id = "other"
    if mark != "copied":
        other.metadata["nbgrader"] = mark
    made.cells.append(other)
    (one,) = [step for step in steps if issubclass(step, DeduplicateIds)]
    assert CheckCellMetadata in steps
    for step in (one, CheckCellMetadata):
        made, _ = step()(made, {})
    assert of(made, "shaping-1") and of(made, "shaping-1-check")
