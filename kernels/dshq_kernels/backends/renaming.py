"""Gives every assignment a name of its own: `a = 1; a = a + 1` becomes `a = 1; a__2 = a + 1`.

numba does the same, but for each name that is assigned twice it goes through the whole function again: more than half
of the seconds that a large drill took (docs/LOG.md). Values and their order stay, so do the bits. Where control flow
meets, a name keeps one place: a branch or a loop that gives it a new value writes it back at its end.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

from dshq_kernels.language.ir import Assign, Emit, Expr, For, If, Out, Stmt, Store, Var


class Renaming:
    """Names of one function, which may have several blocks of statements after one another."""

    def __init__(self) -> None:
        self._versions: Counter[str] = Counter()
        self._now: dict[str, str] = {}
        """Name of the rules -> the one that holds its value here."""
        self._types: dict[str, str] = {}

    def block(self, statements: Sequence[Stmt]) -> tuple[Stmt, ...]:
        """The same statements; nothing that an earlier block assigned is read here."""
        self._now = {}
        return tuple(map(self._statement, statements))

    def _fresh(self, name: str) -> str:
        self._versions[name] += 1
        version = self._versions[name]
        self._now[name] = name if version == 1 else f"{name}__{version}"
        return self._now[name]

    def _statement(self, statement: Stmt) -> Stmt:
        e = self._expression
        if isinstance(statement, Assign):
            value = e(statement.value)
            self._types[statement.name] = value.type
            return Assign(self._fresh(statement.name), value)
        if isinstance(statement, Store):
            index = None if statement.index is None else e(statement.index)
            return Store(statement.field, index, e(statement.value))
        if isinstance(statement, Out):
            return Out(e(statement.index), e(statement.value))
        if isinstance(statement, Emit):
            return Emit(tuple(map(e, statement.values)))
        if isinstance(statement, If):
            test = e(statement.test)
            either, other = (set(_assigned(part)) for part in (statement.body, statement.orelse))
            for name in sorted(either & other - self._now.keys()):
                self._fresh(name)
            return If(test, self._nested(statement.body, either), self._nested(statement.orelse, other))
        assert isinstance(statement, For), "what only debugs does not come here"
        outside = dict(self._now)
        var = self._fresh(statement.var)
        body = self._nested(statement.body, set(_assigned(statement.body)) & outside.keys())
        self._now = outside
        return dataclasses.replace(statement, var=var, body=body)

    def _nested(self, statements: Sequence[Stmt], assigned: set[str]) -> tuple[Stmt, ...]:
        """A branch or a loop's body. A name without a value before it has none after it: rules may not read it."""
        outside = dict(self._now)
        body = [self._statement(statement) for statement in statements]
        for name in sorted(assigned & outside.keys()):
            body.append(Assign(outside[name], Var(self._now[name], self._types[name])))
        self._now = outside
        return tuple(body)

    def _expression(self, value: Expr) -> Expr:
        if isinstance(value, Var):
            name = self._now.get(value.name, value.name)
            return value if name == value.name else dataclasses.replace(value, name=name)
        parts = {key: part for key, part in vars(value).items() if isinstance(part, Expr)}
        new = {key: self._expression(part) for key, part in parts.items()}
        changed = {key: part for key, part in new.items() if part is not parts[key]}
        return dataclasses.replace(value, **changed) if changed else value  # type: ignore[arg-type]


def _assigned(statements: Sequence[Stmt]) -> Iterator[str]:
    """Names that get a value in these statements or in what they hold, but for the indices of loops."""
    for statement in statements:
        if isinstance(statement, Assign):
            yield statement.name
        elif isinstance(statement, If):
            yield from _assigned((*statement.body, *statement.orelse))
        elif isinstance(statement, For):
            yield from _assigned(statement.body)
