"""What the lessons of `notebooks/` use: `check` an answer, `seconds` to spend on training or measuring, `need_torch`.

Each lesson's own checking is in `checks/NAME.py`, or where its row says, loaded when it is asked for.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from dshq_widget.contract.torch_needed import need_torch, torch_missing
from dshq_widget.lessons.table import LESSONS, Lesson, lesson
from dshq_widget.lessons.verdict import Verdict

__all__ = ["LESSONS", "Lesson", "Verdict", "check", "lesson", "need_torch", "seconds", "torch_missing"]

BUDGET = "DSHQ_LESSON_SECONDS"
"""Environment variable: upper limit of `seconds`, for tests and for impatient readers."""


def check(name: str, /, *answer: Any, **named: Any) -> Verdict:
    """What `answer` to the exercise of a lesson, by its name, still lacks; the end of a cell shows it.

    A wrong answer does not raise an error, and neither does one that fails during the check: the verdict says so.
    Raises ValueError for an unknown lesson, and MissingTorch where a lesson's checks need torch and there is none.
    """
    checked = lesson(name)
    try:
        module = importlib.import_module(checked.checked_by)
    except ModuleNotFoundError as error:
        if error.name == "torch":
            need_torch("This lesson")
        raise
    try:
        missing = module.missing(*answer, **named)
    except Exception as error:  # whatever somebody's own function raises
        missing = [f"the check of your answer ended with {type(error).__name__}: {error}"]
    return Verdict(tuple(missing), module.DONE)


def seconds(wanted: float) -> float:
    """`wanted` seconds, at most the environment variable DSHQ_LESSON_SECONDS."""
    most = os.environ.get(BUDGET)
    return float(wanted) if most is None else min(float(wanted), float(most))
