"""Reference back end: a `Program` as plain Python, one function for each verb and one lane, which nothing compiles
(docs/architecture.md, "Reference form").

It is written from the program as the author wrote it, before `selects.py`: branches are branches, and what only debugs
is in it. Floats are `np.float32`, so each operation rounds as the processor does; integers are Python's, wrapped to 32
bits after each operation that may leave them. Each line knows the line of the rule that it comes from, and a variable
of a verb's own rule has the name that its author gave it: a debugger stops in the author's file and shows his names.
`reference_game.py` runs it.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from dshq_kernels.backends.walk import AS_PYTHON, Spelling, Text
from dshq_kernels.language.arithmetic import bounds, unclamped, unsaturated
from dshq_kernels.language.ir import (
    BOOL,
    F32,
    I32,
    U32,
    Aside,
    Binary,
    Const,
    Expr,
    For,
    If,
    Origin,
    Pause,
    Print,
    Program,
    Shown,
    Stmt,
)

SCALAR = ("terminated", "winner", "baseline")
"""Verbs that return one number a lane; the others write rows."""
OWN = ("s", "i", "o", "side")
INNER, COUNT = "__inner_", "__count_"
"""The code's own variables: where a line was inlined from, and shapes drawn. No field begins so."""
UNCLEAR = re.compile(r".*_(d?\d+)?|F\d+")
"""Names that the code has for something else: `x_` for a field or a counter, `x_1` for a variable, `F1` for a float."""
WRAP = {I32: "((({0}) + 2147483648 & 4294967295) - 2147483648)", U32: "(({0}) & 4294967295)"}
WRAPPED = {**{op: AS_PYTHON[op] for op in ("+", "-", "*", "<<")}, "neg": "-{0}"}
"""Operations that may leave the 32 bits of whole numbers."""
SPELT: Spelling = {
    **AS_PYTHON,
    **{(op, kind): wrap.format(text) for op, text in WRAPPED.items() for kind, wrap in WRAP.items()},
    **WRAP,
    "//": "quotient({}, {})",
    "%": "remainder({}, {})",
    ("inv", U32): "(~{} & 4294967295)",
    "sqrt": "root({})",
    "select": "({1} if {0} else {2})",
    (I32, F32): "int({})",
}


def reference_source(program: Program) -> str:
    """A JSON text: `floats`, the bits of each float constant, and `verbs`, for each its key, name, file, first line,
    code, the author's line of each line of the code, and `inner`, the places that inlined lines come from.
    """
    floats: dict[int, int] = {}
    verbs = [_Verb(program, key, floats).written() for key, block in program.verbs.items() if block]
    return json.dumps({"floats": list(floats), "verbs": verbs})


class _Verb(Text):
    """Writes one verb."""

    pad, spelt, flag = "    ", SPELT, "(1 if {} else 0)"

    def __init__(self, program: Program, key: str, floats: dict[int, int]):
        super().__init__(depth=0)
        self.program, self.key, self.floats = program, key, floats
        kind, *names = key.split(":")
        self.scalar = kind in SCALAR
        self.rule = names[0] if kind == "baseline" else kind
        self.side = names[-1] if names else ""
        first = next((statement.at.outermost for statement in program.verbs[key] if statement.at), None)
        own = program.places.get(self.rule)
        self.title = own.rule if own else kind
        """What a traceback calls it: the rule's own name."""
        self.place = own or first or Origin(f"<rules of {program.name}>", 1, self.rule)
        self.at: Origin | None = None
        """Where the statement that is being written comes from."""
        self.rows: list[int] = []
        self.used: dict[str, None] = {}
        self.inner: dict[str, int] = {"": 0}
        self.now: int | None = 0
        """Which place of `inner` the last line came from; None where paths meet."""

    def written(self) -> dict[str, Any]:
        self.inside(self.program.verbs[self.key])
        side = f", side={self.side}" if self.side else ""
        head = [f"def {self.title}(s, i, o{side}):", *(f"    {field}_ = s.{field}" for field in self.used)]
        if len(self.inner) > 1:
            head.append(f"{self.pad}{INNER} = 0")
        if self.rule == "scene":
            head.append(f"{self.pad}{COUNT} = 0")
            self.put(f"{self.pad}return {COUNT}", self.last)
        return {
            "key": self.key,
            "name": self.title,
            "file": self.place.file,
            "line": self.place.line,
            "code": "\n".join((*head, *self.lines)) + "\n",
            "rows": [self.place.line] * len(head) + self.rows,
            "inner": list(self.inner),
        }

    @property
    def last(self) -> int:
        """The row of the last line."""
        return self.rows[-1] if self.rows else self.place.line

    def put(self, text: str, row: int) -> None:
        """Write a line that comes from a row of the verb's own file."""
        super().line(text)
        self.rows.append(row)

    def line(self, text: str) -> None:
        self.put(text, self.row())

    def row(self) -> int:
        """The line to show for a statement: in the verb's own file, where the rule that was called is in another. Notes
        the inner place.
        """
        at = self.at
        if at is None:
            return self.last
        said = f"in rule {at.rule!r} at {at.file}:{at.line}" if at.caller else ""
        outer = at.caller
        while outer:
            said += f", called at {outer.file}:{outer.line}"
            outer = outer.caller
        here: Origin | None = at
        while here and here.file != self.place.file:
            here = here.caller
        row = (here or at.outermost).line
        number = self.inner.setdefault(said, len(self.inner))
        if number != self.now:
            self.put(f"{INNER} = {number}", row)
            self.now = number
        return row

    # -- statements

    def inside(self, block: Sequence[Stmt]) -> None:
        before = len(self.lines)
        super().inside(block)
        if len(self.lines) == before:
            self.put(f"{self.pad}pass", self.last)

    def statement(self, it: Stmt) -> None:
        self.at = it.at
        match it:
            case Aside(body):
                self.row()
                self.statements(body)
            case Print(parts):
                self.line(f"print({', '.join(map(self.text, parts))})")
            case Pause():
                self.line("breakpoint()")
            case _:
                super().statement(it)

    def assign(self, name: str, value: Expr) -> None:
        number, target = unsaturated(value), self.variable(name)
        text = f"saturated({self.expr(number)})" if number else self.expr(value)
        if target != text:
            self.line(f"{target} = {text}")

    def store(self, field: str, index: Expr | None, value: Expr) -> None:
        self.line(f"{self.element(field, index)} = {self.as_number(value)}")

    def out(self, index: Expr, value: Expr) -> None:
        place = "o[i]" if self.scalar else f"o[{self.index(index)}, i]"
        self.line(f"{place} = {self.as_number(value)}")

    def emit(self, values: Sequence[Expr]) -> None:
        self.line(f"{COUNT} = emit(o, {COUNT}, {', '.join(map(self.expr, values))})")

    def branch(self, it: If) -> None:
        row, start = self.row(), self.now
        self.put(f"if {self.expr(it.test)}:", row)
        self.inside(it.body)
        if it.orelse:
            self.put("else:", row)
            self.now = start
            self.inside(it.orelse)
        self.now = None

    def loop(self, it: For) -> None:
        self.line(f"for {self.variable(it.var)} in range({it.start}, {it.stop}, {it.step}):")
        self.now = None
        self.inside(it.body)
        self.now = None

    def element(self, field: str, index: Expr | None) -> str:
        """An element of the state."""
        self.used.setdefault(field)
        return f"{field}_[{'i' if index is None else f'{self.index(index)}, i'}]"

    def index(self, index: Expr) -> str:
        """An index; where the front end clamps it, a call that does."""
        inside = unclamped(index)
        return f"inside({self.expr(inside[0])}, {inside[1].value})" if inside else self.expr(index)

    def text(self, parts: tuple[str | Shown, ...]) -> str:
        """An argument of `print`."""
        if len(parts) == 1 and isinstance(parts[0], Shown) and not parts[0].format:
            return self.shown(parts[0])
        written = [
            repr(part) if isinstance(part, str) else f"format({self.shown(part)}, {part.format!r})" for part in parts
        ]
        return " + ".join(written) or "''"

    def shown(self, part: Shown) -> str:
        return "i" if isinstance(part.value, str) else self.expr(part.value)

    # -- expressions

    def variable(self, name: str) -> str:
        """The author's name of a variable where it cannot be taken for another one."""
        own = self.program.names.get(name, name)
        taken = own in OWN or own in WORDS or keyword.iskeyword(own)
        return name if taken or UNCLEAR.fullmatch(own) else own

    def load(self, field: str, index: Expr | None, kind: str) -> str:
        return f"({self.element(field, index)} != 0)" if kind == BOOL else self.element(field, index)

    def expr(self, value: Expr) -> str:
        if isinstance(value, Binary) and never_leaves(value):
            return AS_PYTHON[value.op].format(self.expr(value.a), self.expr(value.b))
        return super().expr(value)

    def constant(self, value: Const) -> str:
        if value.type == BOOL:
            return str(bool(value.value))
        if value.type == F32:
            bits = int(np.float32(value.value).view(np.uint32))
            return f"F{self.floats.setdefault(bits, len(self.floats))}"
        return f"({value.value})" if value.value < 0 else str(int(value.value))


def never_leaves(value: Binary) -> bool:
    """Whether an operation gives the same in Python, which knows no 32 bits."""
    if value.op in ("//", "%"):
        return isinstance(value.b, Const) and value.b.value > 0
    return value.op != "hash32" and value.type == I32 and bounds(value) is not None


WORDS = ("abs", "breakpoint", "emit", "f32", "floor", "format", "hash32", "inside", "int", "print", "quotient", "range",
         "remainder", "root", "saturated")  # fmt: skip
"""The words of the generated code besides constants: Python's own and those of reference_game.py."""
