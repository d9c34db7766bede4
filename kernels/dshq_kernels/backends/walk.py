"""What back ends do alike: the walk through a program's statements and expressions (language/ir.py). How each piece is
spelt is the back end's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from dshq_kernels.language.ir import (
    BOOL,
    F32,
    I32,
    U32,
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
    Out,
    Program,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
    accesses,
)

ARITHMETIC, COMPARISONS = ("+", "-", "*", "/"), ("<", "<=", ">", ">=", "==", "!=")
INTEGERS = ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>")
Spelling = Mapping[Any, str]
"""An operation, or an operation and the type of its operands (what is more exact counts) -> its text, with `{0}` for
the first operand. A cast is called like the type that it makes.
"""
AS_PYTHON: Spelling = {
    **{op: f"({{0}} {op} {{1}})" for op in (*ARITHMETIC, *INTEGERS, *COMPARISONS, "and", "or")},
    **{word: f"{word}({{0}})" for word in ("abs", "sqrt", "floor", F32, I32, U32)},
    "hash32": "hash32({0}, {1})",
    "neg": "(-{0})",
    "inv": "(~{0})",
    "not": "(not {0})",
}
AS_C: Spelling = {**AS_PYTHON, "and": "({0} && {1})", "or": "({0} || {1})", "not": "(!{0})"}


class Walk:
    """One function as it is written. Expressions are texts."""

    spelt: Spelling
    flag: str
    """How 1 or 0 is made of a bool."""

    def statements(self, block: Sequence[Stmt]) -> None:
        """Write them one after the other."""
        for statement in block:
            self.statement(statement)

    def statement(self, it: Stmt) -> None:
        match it:
            case Assign(name, value):
                self.assign(name, value)
            case Store(field, index, value):
                self.store(field, index, value)
            case Out(index, value):
                self.out(index, value)
            case Emit(values):
                self.emit(values)
            case If():
                self.branch(it)
            case For():
                self.loop(it)
            case _:
                raise AssertionError(f"no code for {it!r}")

    def expr(self, value: Expr) -> str:
        e = self.expr
        match value:
            case Const():
                return self.constant(value)
            case Var(name):
                return self.variable(name)
            case Load(field, index, kind):
                return self.load(field, index, kind)
            case Unary(op, a, kind):
                return self.operation(op, kind, e(a))
            case Binary(op, a, b, kind):
                return self.operation(op, kind, e(a), e(b))
            case Compare(op, a, b) | Logic(op, a, b):
                return self.operation(op, a.type, e(a), e(b))
            case Select(test, a, b, kind):
                return self.operation("select", kind, e(test), e(a), e(b))
            case Cast(a, kind):
                return self.operation(kind, a.type, e(a))
        raise AssertionError(f"no code for {value!r}")

    def operation(self, op: str, kind: str, *operands: str) -> str:
        """An operation on operands of type `kind`; of a `select`, that of the two values."""
        return (self.spelt.get((op, kind)) or self.spelt[op]).format(*operands)

    def variable(self, name: str) -> str:
        return name

    def as_number(self, value: Expr) -> str:
        """A value as it is written down: a bool as 1 or 0."""
        return self.flag.format(self.expr(value)) if value.type == BOOL else self.expr(value)

    # what a back end says of the rest
    constant: Callable[[Const], str]
    load: Callable[[str, Expr | None, str], str]
    assign: Callable[[str, Expr], None]
    store: Callable[[str, Expr | None, Expr], None]
    out: Callable[[Expr, Expr], None]
    emit: Callable[[Sequence[Expr]], None]
    branch: Callable[[If], None]
    loop: Callable[[For], None]


class Text(Walk):
    """One function as lines of text, indented by `pad` for each block around them."""

    pad = "  "

    def __init__(self, depth: int = 1):
        self.lines: list[str] = []
        self.depth = depth

    def line(self, text: str) -> None:
        self.lines.append(self.pad * self.depth + text)

    def inside(self, block: Sequence[Stmt]) -> None:
        """Write a block's statements, one step further in."""
        self.depth += 1
        self.statements(block)
        self.depth -= 1


class Braces(Text):
    """Of a language whose blocks stand in braces. `declared` stands before a loop's variable, `suffix` behind whole
    numbers.
    """

    declared = suffix = ""

    def branch(self, it: If) -> None:
        self.line(f"if ({self.expr(it.test)}) {{")
        self.inside(it.body)
        if it.orelse:
            self.line("} else {")
            self.inside(it.orelse)
        self.line("}")

    def loop(self, it: For) -> None:
        v, sign, end = self.variable(it.var), "<" if it.step > 0 else ">", self.suffix
        head = f"{self.declared}{v} = {it.start}{end}; {v} {sign} {it.stop}{end}; {v} += {it.step}{end}"
        self.line(f"for ({head}) {{")
        self.inside(it.body)
        self.line("}")


class Rows:
    """The state of games side by side, `[words, n]`. A word is in a register while a kernel runs; array fields with an
    index that `statements` do not know beforehand stay in memory.
    """

    def __init__(self, program: Program, statements: Iterable[Stmt]):
        self.fields = {field.name: field for field in program.fields}
        self.rows = program.rows
        self.in_memory = {
            name for name, index, _ in accesses(statements) if index is not None and not isinstance(index, Const)
        }

    def touched(self, statements: Iterable[Stmt]) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
        """Field and element of each register that these statements read or write, and of those that they write."""
        found: dict[tuple[str, int], None] = {}
        written: dict[tuple[str, int], None] = {}
        for field, index, writes in accesses(statements):
            if field not in self.in_memory:
                found[field, known(index)] = None
                if writes:
                    written[field, known(index)] = None
        return list(found), list(written)

    def register(self, field: str, place: int) -> str:
        if not self.fields[field].length:
            return f"x_{field}"
        name = f"{field}_{place}"
        while name in self.fields:
            name += "_"
        return f"x_{name}"

    def loads(self, places: Iterable[tuple[str, int]]) -> Iterator[str]:
        """Assignments of words in memory to their registers."""
        for field, place in places:
            number = self.number(self.word(field, place), self.fields[field].type)
            yield f"{self.register(field, place)} = {number}"

    def stores(self, places: Iterable[tuple[str, int]]) -> Iterator[str]:
        """The inverse."""
        for field, place in places:
            yield f"{self.word(field, place)} = {self.bits(self.register(field, place), self.fields[field].type)}"

    # what a back end says of the rest
    word: Callable[[str, int | str], str]
    """A word in memory; the place is an element's number, or the text of its index."""
    number: Callable[[str, str], str]
    """A word of the state as a number of a type."""
    bits: Callable[[str, str], str]
    """A number of a type as a word of the state."""


class OnRows(Text):
    """A function over such a state."""

    def __init__(self, state: Rows, depth: int = 1):
        super().__init__(depth)
        self.state = state

    def load(self, field: str, index: Expr | None, kind: str) -> str:
        if field in self.state.in_memory:
            return self.state.number(self._word(field, index), kind)
        return self.state.register(field, known(index))

    def stored(self, field: str, index: Expr | None, value: Expr) -> str:
        """The assignment of a value to an element of the state."""
        text = self.expr(value)
        if field in self.state.in_memory:
            return f"{self._word(field, index)} = {self.state.bits(text, value.type)}"
        return f"{self.state.register(field, known(index))} = {text}"

    def _word(self, field: str, index: Expr | None) -> str:
        return self.state.word(field, self.expr(index) if index else 0)


def known(index: Expr | None) -> int:
    """The element that a known index names; 0 for a scalar."""
    return int(index.value) if isinstance(index, Const) else 0
