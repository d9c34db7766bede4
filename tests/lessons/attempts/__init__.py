"""Answers to the lessons' exercises as students give them: ten wrong ones and two unusual right ones for each check."""

from typing import Any, NamedTuple


class Attempts(NamedTuple):
    """Answers to one exercise by what is special about them: arguments of `check` in their order, or by name."""

    wrong: dict[str, tuple | dict[str, Any]]
    right: dict[str, tuple | dict[str, Any]]


def one(answers: dict[str, Any]) -> dict[str, tuple]:
    """Answers that are one function each."""
    return {name: (answer,) for name, answer in answers.items()}
