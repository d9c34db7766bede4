"""What the lessons of `notebooks/` use: `check` an answer, `seconds` to spend on training or measuring.

Each lesson's own checking is in `lesson_NN.py`, loaded when it is asked for: `missing(...)` takes the answer and gives
what it still lacks as sentences, none when it is done; `DONE` says what a finished answer means.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

from dshq_widget.lessons.table import LESSONS, Lesson, lesson
from dshq_widget.lessons.verdict import Verdict

__all__ = ["LESSONS", "Lesson", "Verdict", "check", "lesson", "seconds"]

BUDGET = "DSHQ_LESSON_SECONDS"
"""Environment variable: the most that `seconds` gives, for tests and for the impatient."""


def check(number: str | int, *answer: Any, **named: Any) -> Verdict:
    """What `answer` to the exercise of a lesson still lacks; the end of a cell shows it.

    A wrong answer is no error, and neither is one that breaks the checking: that, too, is told in the verdict. Raises
    ValueError for an unknown lesson.
    """
    checked = lesson(number)
    module = importlib.import_module(f"dshq_widget.lessons.lesson_{checked.number}")
    try:
        missing = module.missing(*answer, **named)
    except Exception as error:  # whatever somebody's own function raises
        missing = [f"the check of your answer ended with {type(error).__name__}: {error}"]
    return Verdict(checked.number, tuple(missing), module.DONE)


def seconds(wanted: float) -> float:
    """`wanted` seconds, or fewer where the environment variable DSHQ_LESSON_SECONDS says so."""
    most = os.environ.get(BUDGET)
    return float(wanted) if most is None else min(float(wanted), float(most))
