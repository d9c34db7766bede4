"""nbgrader's steps that find marks which a notebook has twice, or from another notebook, and leave none that nbgrader
cannot read: it would end the grading of that student, or of everybody.

`nbgrader_config.py` of the course has them in the place of nbgrader's own (tools/instructor/assignments.py).
"""

from __future__ import annotations

from typing import Any

from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.preprocessors import DeduplicateIds, OverwriteCells


class OneMarkEach(DeduplicateIds):
    """In the place of nbgrader's own, which leaves an empty mark on a cell that a student has split or copied. It takes
    that for a mark of an old version, at which `nbgrader autograde` ends, whoever else is still to be graded.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """The notebook with one mark of each name, and without those of other versions."""
        _drop_others(nb)
        nb, resources = super().preprocess(nb, resources)
        _drop_others(nb)
        return nb, resources


class KnownMarks(OverwriteCells):
    """In the place of nbgrader's own, which takes the name alone from the mark of a cell that the assignment does not
    have, such as one that a student has copied from another one. There is no grade for a notebook with half a mark.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """The notebook as nbgrader has it, and without such marks."""
        nb, resources = super().preprocess(nb, resources)
        for cell in nb.cells:
            if "grade_id" not in cell.metadata.get("nbgrader", {"grade_id": ""}):
                del cell.metadata["nbgrader"]
        return nb, resources


def _drop_others(nb: Any) -> None:
    for cell in nb.cells:
        mark = cell.metadata.get("nbgrader")
        if not isinstance(mark, dict) or mark.get("schema_version") != MetadataValidator.schema_version:
            cell.metadata.pop("nbgrader", None)
