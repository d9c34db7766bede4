"""A program without the branches that processors dislike: small `if` blocks become selects, so that a verb is
straight-line code where possible and vectorises over lanes. What only debugs is left out.

The values are the same: a select evaluates both of its arms, and a write that is not to happen writes what was there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dshq_kernels.language.ir import (
    BOOL,
    Aside,
    Assign,
    Const,
    Expr,
    For,
    If,
    Load,
    Program,
    Select,
    Stmt,
    Store,
    Unary,
    Var,
)

ONE_GAME = ("reset", "scene")
"""Verbs that run for one game at a time. They keep their branches."""


def with_selects(program: Program) -> Program:
    """The program for back ends that play many games at once."""
    verbs = {
        name: _kept(block) if name in ONE_GAME else tuple(_Selects().block(block))
        for name, block in program.verbs.items()
    }
    return replace(program, verbs=verbs)


def _kept(block: Sequence[Stmt]) -> tuple[Stmt, ...]:
    """The block without what only debugs."""
    kept: list[Stmt] = []
    for statement in block:
        if isinstance(statement, If):
            statement = replace(statement, body=_kept(statement.body), orelse=_kept(statement.orelse))
        elif isinstance(statement, For):
            statement = replace(statement, body=_kept(statement.body))
        if not isinstance(statement, Aside):
            kept.append(statement)
    return tuple(kept)


class _Selects:
    """Walks one verb in order."""

    def __init__(self) -> None:
        self.defined: set[str] = set()
        """Variables that have a value."""

    def block(self, statements: Sequence[Stmt]) -> list[Stmt]:
        made: list[Stmt] = []
        for statement in statements:
            if isinstance(statement, If):
                made += self.branch(statement)
            elif isinstance(statement, For):
                made.append(replace(statement, body=tuple(self.block(statement.body))))
            elif not isinstance(statement, Aside):
                if isinstance(statement, Assign):
                    self.defined.add(statement.name)
                made.append(statement)
        return made

    def branch(self, node: If) -> list[Stmt]:
        before = set(self.defined)
        then, orelse = self.block(node.body), self.block(node.orelse)
        if not all(selectable(statement) for statement in (*then, *orelse)):
            return [replace(node, body=tuple(then), orelse=tuple(orelse))]
        values, others = (
            {part.name: part.value for part in arm if isinstance(part, Assign) and part.name not in before}
            for arm in (then, orelse)
        )
        both = values.keys() & others.keys()
        """Variables that get their first value in both arms."""
        made = [
            guard(statement, condition, before)
            for condition, arm in ((node.test, then), (Unary("not", node.test, BOOL), orelse))
            for statement in arm
            if not (isinstance(statement, Assign) and statement.name in both)
        ]
        for name, value in values.items():
            if name in both:
                made.append(Assign(name, Select(node.test, value, others[name], value.type), at=node.at))
        return made


def selectable(statement: Stmt) -> bool:
    """Whether a branch of this statement can run unconditionally, its writes guarded: no loops, no drawing, no
    computed array index.
    """
    if isinstance(statement, Store):
        return statement.index is None or isinstance(statement.index, Const)
    return isinstance(statement, Assign)


def guard(statement: Stmt, condition: Expr, before: set[str]) -> Stmt:
    """The statement with its write made conditional; a variable created inside the branch needs no guard."""
    assert isinstance(statement, (Assign, Store))
    kind = statement.value.type
    if isinstance(statement, Store):
        old: Expr = Load(statement.field, statement.index, kind)
    elif statement.name in before:
        old = Var(statement.name, kind)
    else:
        return statement
    return replace(statement, value=Select(condition, statement.value, old, kind))
