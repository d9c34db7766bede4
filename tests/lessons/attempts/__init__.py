"""Answers to the lessons' exercises as students give them: five wrong and two unusual right ones for each check."""

import math
from pathlib import Path
from typing import Any, NamedTuple
from unittest import SkipTest

import numpy as np

ANSWERS = Path(__file__).parents[1] / "answers"


class Attempts(NamedTuple):
    """Answers to one exercise by what is special about them: arguments of `check` in their order, or by name."""

    wrong: dict[str, tuple | dict[str, Any]]
    right: dict[str, tuple | dict[str, Any]]


def one(answers: dict[str, Any]) -> dict[str, tuple]:
    """Answers that are one function each."""
    return {name: (answer,) for name, answer in answers.items()}


def changed(module: str, part: int, names: str, *edits: str, **known: Any) -> dict[str, Any]:
    """The reference answer to exercise `part`, each old text replaced by a new one; `known`: names of the notebook."""
    answers = ANSWERS / f"{module}.py"
    if not answers.exists():
        raise SkipTest(f"the tree is without the lesson {module}")
    parts = answers.read_text(encoding="utf-8").split("# %%\n")[1:]
    for old, new in zip(edits[::2], edits[1::2], strict=True):
        assert old in parts[part], old
        parts[part] = parts[part].replace(old, new)
    space = {"np": np, "math": math, **known}
    for text in parts[: part + 1]:
        exec(text, space)
    return {name: space[name] for name in names.split()}


def exercise(
    module: str, part: int, names: str, wrong: dict[str, Any], right: dict[str, Any], **known: Any
) -> Attempts:
    """Attempts by what is special about each: texts that change the reference answer, or functions in its place."""

    def made(own: Any) -> dict[str, Any]:
        if isinstance(own, tuple):
            return changed(module, part, names, *own, **known)
        given = own if isinstance(own, dict) else {names.split()[0]: own}
        return given if len(given) == len(names.split()) else {**changed(module, part, names, **known), **given}

    return Attempts(*({name: made(own) for name, own in answers.items()} for answers in (wrong, right)))
