"""The typed program that the rules front end makes and every back end reads: a few expressions, a few statements.

A back end walks these with one function per node type; there is nothing else in a `Program`. Expressions have no side
effects and evaluate everything they mention (both arms of `Select`, both sides of `Logic`), so any order of
evaluation gives the same bits.

The front end writes a program as its author did: branches are branches, and what is only for debugging is in it
(`Aside`). The reference back end runs it so. The others get what `selects.py` makes of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

F32, I32, U32, BOOL = "f32", "i32", "u32", "bool"
TYPES = (F32, I32, U32, BOOL)


@dataclass(frozen=True)
class Const:
    """A literal. `value` is a Python float (already rounded to float32), int or bool, according to `type`."""

    value: float | int | bool
    type: str


@dataclass(frozen=True)
class Var:
    """A local variable of the flattened rule. `bounds` (inclusive) is known for the index of a loop that was not
    unrolled.
    """

    name: str
    type: str
    bounds: tuple[int, int] | None = None


@dataclass(frozen=True)
class Load:
    """The lane's value of a state field; `index` is None for scalar fields and in range (the front end clamps it) for
    array fields.
    """

    field: str
    index: Expr | None
    type: str


@dataclass(frozen=True)
class Unary:
    """`neg`, `inv` (~), `not`, `abs`, `sqrt`, `floor`."""

    op: str
    a: Expr
    type: str


@dataclass(frozen=True)
class Binary:
    """`+ - * /` on f32; `+ - * // % & | ^ << >>` on i32 and u32; `hash32` on u32.

    Both operands have the result's type (shift counts too).
    """

    op: str
    a: Expr
    b: Expr
    type: str


@dataclass(frozen=True)
class Compare:
    """`< <= > >= == !=` of two operands of one type."""

    op: str
    a: Expr
    b: Expr
    type: str = BOOL


@dataclass(frozen=True)
class Logic:
    """`and` or `or` of two bools, both evaluated."""

    op: str
    a: Expr
    b: Expr
    type: str = BOOL


@dataclass(frozen=True)
class Select:
    """`a if test else b`, both evaluated."""

    test: Expr
    a: Expr
    b: Expr
    type: str


@dataclass(frozen=True)
class Cast:
    """Conversion of a number: f32 -> i32 truncates (its operand is clamped to the i32 range by the front end), i32
    <-> u32 keeps the bits.
    """

    a: Expr
    type: str


Expr = Const | Var | Load | Unary | Binary | Compare | Logic | Select | Cast


@dataclass(frozen=True)
class Origin:
    """The line that a statement was written on. `caller` is the call that brought it here, where its rule was
    inlined.
    """

    file: str
    line: int
    rule: str
    caller: Origin | None = None

    @property
    def outermost(self) -> Origin:
        """The line of the verb's own rule."""
        return self.caller.outermost if self.caller else self


@dataclass(frozen=True)
class Statement:
    """`at` says where it comes from, and is no part of what it means."""

    at: Origin | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class Assign(Statement):
    name: str
    value: Expr


@dataclass(frozen=True)
class Store(Statement):
    """Write the lane's value of a state field."""

    field: str
    index: Expr | None
    value: Expr


@dataclass(frozen=True)
class Out(Statement):
    """Write element `index` of the verb's result for this lane."""

    index: Expr
    value: Expr


@dataclass(frozen=True)
class Emit(Statement):
    """Append one shape to the scene: 12 floats (see docs/architecture.md)."""

    values: tuple[Expr, ...]


@dataclass(frozen=True)
class If(Statement):
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True)
class For(Statement):
    """`for var in range(start, stop, step)` with constant bounds."""

    var: str
    start: int
    stop: int
    step: int
    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Aside(Statement):
    """Statements that only debug, such as those of a `print`: they read the game and write nothing of it. Only here
    may `Print` and `Pause` stand. No back end but the reference sees it.
    """

    body: tuple[Stmt, ...]


@dataclass(frozen=True)
class Shown:
    """A value in the text of a `Print`, with the format that stands behind its colon."""

    value: Expr | str
    """An expression, or "lane": the number of the lane."""
    format: str = ""


@dataclass(frozen=True)
class Print(Statement):
    """`print(...)`: its arguments, each a row of texts and values."""

    parts: tuple[tuple[str | Shown, ...], ...]


@dataclass(frozen=True)
class Pause(Statement):
    """`breakpoint()`."""


Stmt = Assign | Store | Out | Emit | If | For | Aside | Print | Pause


@dataclass(frozen=True)
class Field:
    """One state field: `length` 0 for a scalar, else the number of elements. Every element is 4 bytes (bool is an i32
    of 0 or 1).
    """

    name: str
    type: str
    length: int

    @property
    def words(self) -> int:
        return max(1, self.length)


@dataclass(frozen=True)
class Program:
    """A translated drill. `verbs` maps a verb's key (`tick`, `observe:0`, `baseline:chaser:1`, ...) to its flattened
    statements for one lane.
    """

    name: str
    sides: int
    n_obs: int
    n_terms: int
    n_actions: int
    scene_max: int
    baselines: tuple[str, ...]
    masked: bool
    fields: tuple[Field, ...]
    verbs: dict[str, tuple[Stmt, ...]]
    names: dict[str, str] = field(default_factory=dict, compare=False)
    """Variable -> the name that its author gave it, in a verb's own rule. They are scoped as Python's are."""
    places: dict[str, Origin] = field(default_factory=dict, compare=False)
    """A verb's own rule -> where it is defined."""

    @property
    def words(self) -> int:
        """4-byte words of one game's state."""
        return sum(field.words for field in self.fields)

    @property
    def rows(self) -> dict[str, int]:
        """The word of the state that each field begins at."""
        words = accumulate((field.words for field in self.fields), initial=0)
        return {field.name: at for field, at in zip(self.fields, words, strict=False)}


def debugs(statements: Sequence[Stmt]) -> bool:
    """Whether something in them only debugs."""
    for statement in statements:
        if isinstance(statement, Aside):
            return True
        if isinstance(statement, If) and debugs((*statement.body, *statement.orelse)):
            return True
        if isinstance(statement, For) and debugs(statement.body):
            return True
    return False


def accesses(statements: Iterable[Stmt]) -> Iterator[tuple[str, Expr | None, bool]]:
    """(field, index, whether written) of every load and store."""
    for statement in statements:
        for value in _values(statement):
            yield from ((load.field, load.index, False) for load in _find_loads(value))
        if isinstance(statement, Store):
            yield statement.field, statement.index, True
        elif isinstance(statement, If):
            yield from accesses((*statement.body, *statement.orelse))
        elif isinstance(statement, For):
            yield from accesses(statement.body)


def _values(statement: Stmt) -> tuple[Expr, ...]:
    """The expressions of a statement itself."""
    if isinstance(statement, Assign):
        return (statement.value,)
    if isinstance(statement, Store):
        return (statement.value,) if statement.index is None else (statement.index, statement.value)
    if isinstance(statement, Out):
        return (statement.index, statement.value)
    if isinstance(statement, Emit):
        return statement.values
    return (statement.test,) if isinstance(statement, If) else ()


def _find_loads(value: Expr) -> Iterator[Load]:
    if isinstance(value, Load):
        yield value
    for part in vars(value).values():
        if isinstance(part, Expr):
            yield from _find_loads(part)
