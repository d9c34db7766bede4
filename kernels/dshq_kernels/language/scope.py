"""The state of a translation: the names of one inlined call (`Scope`) and the statements written so far (`Writer`)."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from dshq_kernels.language.arithmetic import OutOfRangeError, settle
from dshq_kernels.language.ir import Aside, Assign, Const, Expr, Load, Origin, Stmt, Store, Var
from dshq_kernels.language.reading import Parsed
from dshq_kernels.language.subset import RulesError

TOO_DEEP = ("this is nested too deeply", "keep parts of it in variables; write a chain of `elif` as several `if`s")


class Marker:
    """The meaning of a name that is not a value: the state, the lane or the verb's result."""

    def __init__(self, what: str):
        self.what = what


STATE, LANE, RESULT = Marker("state"), Marker("lane"), Marker("result")


@dataclass(frozen=True)
class Written:
    """The array that a verb writes: the name of its rows, their number and their type."""

    what: str
    length: int
    type: str


@dataclass(frozen=True)
class Undefined:
    """A name that has a value on some paths only."""

    name: str


Argument = Expr | Marker
Value = Argument | Undefined


@dataclass(frozen=True)
class Scope:
    """One call that is being inlined. `names` grows as the body assigns; `callers` are the functions around this one,
    itself included; `call` is where it was called, None for a verb's own rule.
    """

    parsed: Parsed
    names: dict[str, Value]
    callers: tuple[Callable[..., Any], ...]
    call: Origin | None = None

    def origin(self, node: ast.stmt) -> Origin:
        """The line of a statement."""
        return self.parsed.origin(node, self.call)

    def error(self, node: ast.AST, what: str, mend: str) -> RulesError:
        return self.parsed.error(node, what, mend)

    @contextmanager
    def located(self, node: ast.AST) -> Iterator[None]:
        """What is translated inside this context stands in `node`: so do an int literal that its type cannot hold, and
        what is nested too deeply.
        """
        try:
            yield
        except OutOfRangeError as error:
            raise self.error(node, error.what, error.mend) from None
        except RecursionError:
            raise self.error(node, *TOO_DEEP) from None

    def fork(self) -> Scope:
        """A copy with separate names: assignments in a branch are not visible outside it."""
        return replace(self, names=dict(self.names))

    def marks(self, node: ast.AST, marker: Marker) -> bool:
        """Whether `node` is a name of the state, the lane or the result."""
        return isinstance(node, ast.Name) and self.names.get(node.id) is marker

    def marks_field(self, node: ast.AST) -> bool:
        """Whether `node` reads `s.field`, s being the state."""
        return isinstance(node, ast.Attribute) and self.marks(node.value, STATE)


class Writer:
    """The statements of one verb as they are written. `numbers` makes variable names unique in the whole program, none
    of them one of `taken`. `result` describes the array that the verb writes, if any; `reads`: the verb's name, where
    it only reads the game.
    """

    def __init__(self, numbers: Iterator[int], taken: Container[str], result: Written | None = None, reads: str = ""):
        self.block: list[Stmt] = []
        self.written = 0
        self.result = result
        self.reads = reads
        self.at: Origin | None = None
        """Of the statements that are being written."""
        self.names: dict[str, str] = {}
        """Variable -> the author's name for it."""
        self._numbers: Iterator[int | str] = numbers
        self._taken = taken
        self._asides = count(1)

    def fresh(self, stem: str) -> str:
        name = f"{stem}_{next(self._numbers)}"
        return self.fresh(stem) if name in self._taken else name

    def name(self, variable: str, name: str, scope: Scope) -> None:
        """Note how the author calls a variable, where the scope is a verb's own rule."""
        if scope.call is None:
            self.names[variable] = name

    def append(self, statement: Stmt) -> None:
        self.written += 1
        self.block.append(statement)

    def store(self, place: Load, value: Expr) -> None:
        """Write an element of the state. Raises RulesError in a verb that only reads the game: how often those are
        asked differs. All but the scene may draw random numbers.
        """
        if self.reads and (place.field != "rng_count" or self.reads == "scene"):
            assert self.at is not None
            at = self.at.outermost
            text, drawn = linecache.getline(at.file, at.line).strip(), place.field == "rng_count"
            raise RulesError(
                f"{at.file}:{at.line}: in rule {at.rule!r}: it only reads the game, and this changes {place.field!r}"
                f"\n    {text}\n{'Draw' if drawn else 'Write'} it in `tick` or `reset`."
            )
        self.append(Store(place.field, place.index, value, at=self.at))

    def assign(self, stem: str, value: Expr) -> Var:
        """A new variable that holds `value` from here on."""
        value = settle(value)
        var = Var(self.fresh(stem), value.type)
        self.append(Assign(var.name, value, at=self.at))
        return var

    def hold(self, stem: str, value: Expr) -> Var | Const:
        """`value` as a variable or a constant, which may be used twice."""
        return value if isinstance(value, (Var, Const)) else self.assign(stem, value)

    @contextmanager
    def nested(self) -> Iterator[list[Stmt]]:
        """Collect the statements written inside this context in a separate block."""
        outer, self.block = self.block, []
        yield self.block
        self.block = outer

    @contextmanager
    def on(self, at: Origin) -> Iterator[None]:
        """What is written inside this context comes from that line."""
        outer, self.at = self.at, at
        yield
        self.at = outer

    @contextmanager
    def aside(self) -> Iterator[list[Stmt]]:
        """What is written inside this context becomes one `Aside`. It takes no number from the other variables, and
        counts nothing, so that the rest of the program is what it would be without it.
        """
        numbers, written = self._numbers, self.written
        self._numbers = (f"d{number}" for number in self._asides)
        with self.nested() as block:
            yield block
        self._numbers, self.written = numbers, written
        self.block.append(Aside(tuple(block), at=self.at))
