"""The decorator and the errors of the rules language, separate from the front end because drills import them."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class RulesError(ValueError):
    """A rule uses something that the language does not support. The text names the file, the line, the problem and the
    fix.
    """


class DeclarationError(ValueError):
    """A declaration of a drill is wrong: `attribute` of the class, and in it the text `item`."""

    def __init__(self, text: str, attribute: str, item: str | None = None):
        super().__init__(text)
        self.attribute = attribute
        self.item = item


def rule(function: Function) -> Function:
    """Mark a function as a rule: it is translated, never run as Python. Returns it unchanged."""
    function.__dshq_rule__ = True  # type: ignore[attr-defined]
    return function


def _text() -> None:
    """The body of a rule that is a text, which nothing runs."""


def written_rule(name: str, parameters: Sequence[str], line: str) -> Callable[..., Any]:
    """A rule that returns one expression, from its text. It is translated like every other rule; nothing runs it. It
    knows its drill's rules and constants and the words of the language, and no names of any module.
    """
    made = types.FunctionType(_text.__code__, {}, name)
    made.__dshq_source__ = f"def {name}({', '.join(parameters)}):\n    return {line}\n"  # type: ignore[attr-defined]
    return rule(made)
