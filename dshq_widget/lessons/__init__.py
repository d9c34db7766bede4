"""What the lessons of `notebooks/` use: `check` an answer, `predict` what comes, `seconds` to spend, `need_torch`.

Each lesson's own checking is in `checks/NAME.py`, or where its row says, loaded when it is asked for.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from dshq_widget.contract.torch_needed import need_torch, torch_missing
from dshq_widget.lessons.checks.slips import Unjudged
from dshq_widget.lessons.predictions import Predictions, predict
from dshq_widget.lessons.table import LESSONS, Lesson, lesson
from dshq_widget.lessons.verdict import Verdict
from dshq_widget.runtime.words import said

__all__ = [
    "LESSONS",
    "Lesson",
    "Predictions",
    "Verdict",
    "check",
    "lesson",
    "need_torch",
    "predict",
    "seconds",
    "torch_missing",
]

BUDGET = "DSHQ_LESSON_SECONDS"
"""Environment variable: upper limit of `seconds`, for tests and for impatient readers."""


def check(name: str, /, *answer: Any, **named: Any) -> Verdict:
    """What `answer` to the exercise of a lesson, by its name, still lacks; the end of a cell shows it.

    A wrong answer does not raise an error, and neither does one that fails during the check: the verdict says so.
    Raises ValueError for an unknown lesson, and MissingTorch where a lesson's checks need torch and there is none.
    """
    return Verdict(*judged(name, *answer, **named))


def judged(name: str, /, *answer: Any, **named: Any) -> tuple[tuple[str, ...], str]:
    """What a `Verdict` is made of: what is missing, and what it means to have done it. Raises as `check` does."""
    checked = lesson(name)
    try:
        module = importlib.import_module(checked.checked_by)
    except ModuleNotFoundError as error:
        if error.name == "torch":
            need_torch("This lesson")
        raise
    given = {**dict(zip(inspect.signature(module.missing).parameters, answer, strict=False)), **named}
    if nothing := [key for key, value in given.items() if value is None]:  # which a check takes for what it is not of
        return tuple(f"`{key}` is None: the check needs it." for key in nothing), module.DONE
    try:
        missing = module.missing(*answer, **named)
    except Unjudged as error:
        missing = [str(error)]
    except Exception as error:  # whatever somebody's own function raises
        missing = [f"the check of your answer ended with {said(error)}{_where(error)}"]
    return tuple(missing), module.DONE


def _where(error: Exception) -> str:
    """The innermost line of an error's traceback that stands in no module of a package: one of the student's own."""
    lines = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.line and not frame.filename.startswith((str(Path(__file__).parents[1]), sys.prefix, sys.base_prefix))
    ]
    return f", in your line {lines[-1].lineno}: `{lines[-1].line}`" if lines else ""


def seconds(wanted: float) -> float:
    """`wanted` seconds, at most the environment variable DSHQ_LESSON_SECONDS."""
    most = os.environ.get(BUDGET)
    return float(wanted) if most is None else min(float(wanted), float(most))
