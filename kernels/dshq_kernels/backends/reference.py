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
from typing import Any

import numpy as np

from dshq_kernels.language.arithmetic import bounds, unclamped, unsaturated
from dshq_kernels.language.ir import (
    BOOL,
    F32,
    I32,
    U32,
    Aside,
    Assign,
    Binary,
    Cast,
    Compare,
    Const,
    Emit,
    Expr,
    For,
    If,
    Load,
    Logic,
    Origin,
    Out,
    Pause,
    Print,
    Program,
    Select,
    Shown,
    Stmt,
    Store,
    Unary,
    Var,
)

SCALAR = ("terminated", "winner", "baseline")
"""Verbs that return one number a lane; the others write rows."""
OWN = ("s", "i", "o", "side")
UNCLEAR = re.compile(r".*_(d?\d+)?|F\d+")
"""Names that the code has for something else: `x_` for a field or a counter, `x_1` for a variable, `F1` for a float."""
WRAP = {I32: "(({}) + 2147483648 & 4294967295) - 2147483648", U32: "({}) & 4294967295"}


def reference_source(program: Program) -> str:
    """A JSON text: `floats`, the bits of each float constant, and `verbs`, for each its key, name, file, first line,
    code, the author's line of each line of the code, and `inner`, the places that inlined lines come from.
    """
    floats: dict[int, int] = {}
    verbs = [_Verb(program, key, floats).written() for key, block in program.verbs.items() if block]
    return json.dumps({"floats": list(floats), "verbs": verbs})


class _Verb:
    """Writes one verb."""

    def __init__(self, program: Program, key: str, floats: dict[int, int]):
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
        self.lines: list[str] = []
        self.rows: list[int] = []
        self.used: dict[str, None] = {}
        self.inner: dict[str, int] = {"": 0}
        self.now: int | None = 0
        """Which place of `inner` the last line came from; None where paths meet."""

    def written(self) -> dict[str, Any]:
        depth = 1
        self.block(self.program.verbs[self.key], depth)
        side = f", side={self.side}" if self.side else ""
        head = [f"def {self.title}(s, i, o{side}):", *(f"    {field}_ = s.{field}" for field in self.used)]
        if len(self.inner) > 1:
            head.append("    inner_ = 0")
        if self.rule == "scene":
            head.append("    count_ = 0")
            self.line(depth, "return count_", self.rows[-1] if self.rows else self.place.line)
        return {
            "key": self.key,
            "name": self.title,
            "file": self.place.file,
            "line": self.place.line,
            "code": "\n".join((*head, *self.lines)) + "\n",
            "rows": [self.place.line] * len(head) + self.rows,
            "inner": list(self.inner),
        }

    def line(self, depth: int, text: str, row: int) -> None:
        self.lines.append("    " * depth + text)
        self.rows.append(row)

    def row(self, at: Origin | None, depth: int) -> int:
        """The line to show for a statement: in the verb's own file, where the rule that was called is in another. Notes
        the inner place.
        """
        if at is None:
            return self.rows[-1] if self.rows else self.place.line
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
            self.line(depth, f"inner_ = {number}", row)
            self.now = number
        return row

    # -- statements

    def block(self, statements: tuple[Stmt, ...], depth: int) -> None:
        before = len(self.lines)
        for statement in statements:
            self.statement(statement, depth)
        if len(self.lines) == before:
            self.line(depth, "pass", self.rows[-1] if self.rows else self.place.line)

    def statement(self, it: Stmt, depth: int) -> None:
        if isinstance(it, Assign):
            name, value = self.name(it.name), self.e(it.value)
            number = unsaturated(it.value)
            if number:
                value = f"saturated({self.e(number)})"
            if name != value:
                self.line(depth, f"{name} = {value}", self.row(it.at, depth))
        elif isinstance(it, Store):
            place = f"{it.field}_[{'i' if it.index is None else f'{self.index(it.index)}, i'}]"
            self.used.setdefault(it.field)
            self.line(depth, f"{place} = {self.word(it.value)}", self.row(it.at, depth))
        elif isinstance(it, Out):
            place = "o[i]" if self.scalar else f"o[{self.index(it.index)}, i]"
            self.line(depth, f"{place} = {self.word(it.value)}", self.row(it.at, depth))
        elif isinstance(it, Emit):
            values = ", ".join(map(self.e, it.values))
            self.line(depth, f"count_ = emit(o, count_, {values})", self.row(it.at, depth))
        elif isinstance(it, Aside):
            self.row(it.at, depth)
            for part in it.body:
                self.statement(part, depth)
        elif isinstance(it, Print):
            self.line(depth, f"print({', '.join(map(self.text, it.parts))})", self.row(it.at, depth))
        elif isinstance(it, Pause):
            self.line(depth, "breakpoint()", self.row(it.at, depth))
        else:
            self.nested(it, depth)

    def nested(self, it: If | For, depth: int) -> None:
        row = self.row(it.at, depth)
        if isinstance(it, For):
            self.now = None
            self.line(depth, f"for {self.name(it.var)} in range({it.start}, {it.stop}, {it.step}):", row)
            self.block(it.body, depth + 1)
        else:
            start = self.now
            self.line(depth, f"if {self.e(it.test)}:", row)
            self.block(it.body, depth + 1)
            if it.orelse:
                self.line(depth, "else:", row)
                self.now = start
                self.block(it.orelse, depth + 1)
        self.now = None

    def word(self, value: Expr) -> str:
        """A value as it is stored."""
        return f"(1 if {self.e(value)} else 0)" if value.type == BOOL else self.e(value)

    def index(self, index: Expr) -> str:
        """An index; where the front end clamps it, a call that does."""
        inside = unclamped(index)
        return f"inside({self.e(inside[0])}, {inside[1].value})" if inside else self.e(index)

    def text(self, parts: tuple[str | Shown, ...]) -> str:
        """An argument of `print`."""
        if len(parts) == 1 and isinstance(parts[0], Shown) and not parts[0].format:
            return self.shown(parts[0])
        written = [
            repr(part) if isinstance(part, str) else f"format({self.shown(part)}, {part.format!r})" for part in parts
        ]
        return " + ".join(written) or "''"

    def shown(self, part: Shown) -> str:
        return "i" if isinstance(part.value, str) else self.e(part.value)

    # -- expressions

    def name(self, variable: str) -> str:
        """The author's name of a variable where it cannot be taken for another one."""
        name = self.program.names.get(variable, variable)
        taken = name in OWN or name in WORDS or keyword.iskeyword(name)
        return variable if taken or UNCLEAR.fullmatch(name) else name

    def e(self, value: Expr) -> str:
        if isinstance(value, Const):
            return self.constant(value)
        if isinstance(value, Var):
            return self.name(value.name)
        if isinstance(value, Load):
            self.used.setdefault(value.field)
            text = f"{value.field}_[{'i' if value.index is None else f'{self.index(value.index)}, i'}]"
            return f"({text} != 0)" if value.type == BOOL else text
        if isinstance(value, Unary):
            return self.unary(value)
        if isinstance(value, Binary):
            return self.binary(value)
        if isinstance(value, Compare):
            return f"({self.e(value.a)} {value.op} {self.e(value.b)})"
        if isinstance(value, Logic):
            return f"({self.e(value.a)} {value.op} {self.e(value.b)})"
        if isinstance(value, Select):
            return f"({self.e(value.a)} if {self.e(value.test)} else {self.e(value.b)})"
        assert isinstance(value, Cast)
        a = self.e(value.a)
        if value.type == F32:
            return f"f32({a})"
        return f"int({a})" if value.a.type == F32 else f"({WRAP[value.type].format(a)})"

    def constant(self, value: Const) -> str:
        if value.type == BOOL:
            return str(bool(value.value))
        if value.type == F32:
            bits = int(np.float32(value.value).view(np.uint32))
            return f"F{self.floats.setdefault(bits, len(self.floats))}"
        return f"({value.value})" if value.value < 0 else str(int(value.value))

    def unary(self, value: Unary) -> str:
        a = self.e(value.a)
        if value.op == "neg":
            return f"(-{a})" if value.type == F32 else f"({WRAP[value.type].format(f'-{a}')})"
        if value.op == "inv":
            return f"(~{a})" if value.type == I32 else f"(~{a} & 4294967295)"
        return f"(not {a})" if value.op == "not" else f"{FUNCTIONS[value.op]}({a})"

    def binary(self, value: Binary) -> str:
        a, b, op = self.e(value.a), self.e(value.b), value.op
        plain = f"({a} {op} {b})"
        if value.type == F32 or op in ("&", "|", "^", ">>"):
            return plain
        if op == "hash32":
            return f"hash32({a}, {b})"
        if op in ("//", "%"):
            if not (isinstance(value.b, Const) and value.b.value > 0):
                return f"{'quotient' if op == '//' else 'remainder'}({a}, {b})"
            return plain
        if value.type == I32 and bounds(value) is not None:
            return plain
        return f"({WRAP[value.type].format(plain)})"


FUNCTIONS = {"abs": "abs", "sqrt": "root", "floor": "floor"}
WORDS = ("abs", "breakpoint", "emit", "f32", "floor", "format", "hash32", "inside", "int", "print", "quotient", "range",
         "remainder", "root", "saturated")  # fmt: skip
"""The words of the generated code besides constants: Python's own and those of reference_game.py."""
