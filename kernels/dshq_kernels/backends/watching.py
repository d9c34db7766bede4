"""What rules do that compiled code passes over in silence: indices outside their array, divisions by zero, the first
NaN or infinity, numbers too large for an int. The reference back end tells, once for each place, and goes on.
"""

from __future__ import annotations

import linecache
import re
import sys
from dataclasses import dataclass
from types import CodeType, FrameType

import numpy as np

from dshq_kernels.backends import reference_game
from dshq_kernels.backends.reference_game import Loaded

FLOATS = {
    "divide by zero": "division by zero",
    "overflow": "an infinity: too large for a float32",
    "invalid value": "a NaN: not a number",
}
"""What numpy calls it, and what it makes."""
FIELD = re.compile(r"\bs\.(\w+)\[")
NAME = re.compile(r"(?<![.\w])[A-Za-z_]\w*")
MOST = 8
"""Elements of an array field that are shown."""


@dataclass
class Noticed:
    """Something that was noticed at one place, `count` times; the values are those of the first time."""

    what: str
    file: str
    line: int
    rule: str
    inside: str
    """Where the line was inlined from, "" for the verb's own."""
    text: str
    values: str
    count: int = 1

    def __str__(self) -> str:
        again = f" ({self.count} times)" if self.count > 1 else ""
        lines = [f"{self.file}:{self.line}: in rule {self.rule!r}: {self.what}{again}", f"    {self.text}"]
        lines += [f"    {part}" for part in (self.values, self.inside) if part]
        return "\n".join(lines)


class Watch:
    """Keeps the warnings of one game. `words` replace the reference's own, `floats` is for `np.errstate`, and `rules`
    has to be what they were loaded into.
    """

    def __init__(self) -> None:
        self.found: dict[tuple[str, CodeType, int, str], Noticed] = {}
        self.rules: Loaded | None = None
        self.words = {
            "quotient": self.quotient,
            "remainder": self.remainder,
            "inside": self.inside,
            "saturated": self.saturated,
        }
        self.floats = {"under": "ignore", "divide": "call", "over": "call", "invalid": "call", "call": self.float_error}

    def watch(self, rules: Loaded) -> None:
        """These are what `words` were loaded into."""
        self.rules = rules

    def quotient(self, a: int, b: int) -> int:
        if b == 0:
            self.note("division by zero, taken as 0", f"{a} // {b}")
        return reference_game.quotient(a, b)

    def remainder(self, a: int, b: int) -> int:
        if b == 0:
            self.note("division by zero, taken as 0", f"{a} % {b}")
        return reference_game.remainder(a, b)

    def inside(self, index: int, last: int) -> int:
        moved = reference_game.inside(index, last)
        if moved != index:
            self.note("index outside the array", f"{index} is not in 0 to {last}: element {moved} was taken")
        return moved

    def saturated(self, x: np.float32) -> np.float32:
        if not -2147483648.0 <= x <= 2147483520.0:
            self.note("int() of a number that no i32 holds", f"int({x})")
        return reference_game.saturated(x)

    def float_error(self, what: str, flag: int) -> None:
        self.note(FLOATS.get(what, what), "")

    def note(self, what: str, values: str) -> None:
        """Note something about the line of rules that is running."""
        assert self.rules is not None
        frame: FrameType | None = sys._getframe(2)
        while frame and frame.f_code not in self.rules.inner:
            frame = frame.f_back
        if frame is None:
            return
        code, line = frame.f_code, frame.f_lineno
        inner = self.rules.inner_place(code, frame.f_locals)
        key = (what, code, line, inner)
        if key in self.found:
            self.found[key].count += 1
            return
        text = linecache.getline(code.co_filename, line).strip()
        shown = "; ".join(part for part in (values, named(text, frame)) if part)
        self.found[key] = Noticed(what, code.co_filename, line, code.co_name, inner, text, shown)


def named(text: str, frame: FrameType) -> str:
    """The values of the variables and the state's fields that a line names."""
    names, state, lane = frame.f_locals, frame.f_locals["s"], frame.f_locals["i"]
    shown: dict[str, str] = {}
    for field in FIELD.findall(text):
        view = getattr(state, field, None)
        if view is not None:
            column = np.asarray(view)[..., lane]
            some = [str(value) for value in column.ravel()[:MOST]]
            row = f"[{', '.join(some)}{', ...' if column.size > MOST else ''}]"
            shown[f"s.{field}"] = row if column.ndim else some[0]
    for name in NAME.findall(text):
        if name in names and name not in ("s", "i", "o"):
            shown[name] = str(names[name])
    return ", ".join(f"{name} = {value}" for name, value in shown.items())
