"""The mark and the error of the rules language; a file of its own because rules are written with it before the front
end reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable)


class RulesError(ValueError):
    """Something in a rule is outside the subset. The text names the file, the line, what was found and what to write
    instead.
    """


def rule(function: Function) -> Function:
    """Mark a function as a rule: it is translated, never run as Python. Returns it unchanged."""
    function.__dshq_rule__ = True  # type: ignore[attr-defined]
    return function
