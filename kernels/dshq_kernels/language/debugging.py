"""What authors write to debug: `print(...)`, `breakpoint()`, and the `if`s and loops that hold nothing else. Each
becomes one `Aside`, which only the reference back end sees; the rest of a program is what it would be without them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Protocol

from dshq_kernels.language.arithmetic import settle
from dshq_kernels.language.expressions import Expressions
from dshq_kernels.language.ir import Emit, For, If, Out, Pause, Print, Shown, Stmt, Store
from dshq_kernels.language.reading import Reader
from dshq_kernels.language.scope import LANE, Marker, Scope, Writer

WORDS = ("print", "breakpoint")


class Translator(Protocol):
    """What translates the other statements (statements.py)."""

    writer: Writer
    expressions: Expressions

    def translated(self, node: ast.stmt, scope: Scope) -> None: ...


def only_debugs(node: ast.stmt, scope: Scope, reader: Reader) -> bool:
    """Whether a statement does nothing but debug."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Name(id=word) as name)) if word in WORDS:
            return word not in scope.parsed.own and reader.lookup(name, scope.parsed) is None
        case ast.If() | ast.For():
            inside = [part for part in (*node.body, *node.orelse) if not isinstance(part, ast.Pass)]
            return bool(inside) and all(only_debugs(part, scope, reader) for part in inside)
    return False


def debug(node: ast.stmt, scope: Scope, translator: Translator) -> None:
    """Translate such a statement. Raises RulesError if it would change the game."""
    writer = translator.writer
    if isinstance(node, (ast.If, ast.For)):
        with writer.aside() as block:
            translator.translated(node, scope.fork())
    else:
        assert isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        with writer.aside() as block:
            writer.append(leaf(node.value, scope, translator))
    if writes(block):
        mend = "call the rule on a line of its own and keep its value in a variable"
        raise scope.error(node, "what only debugs may not change the game", mend)


def leaf(call: ast.Call, scope: Scope, translator: Translator) -> Stmt:
    """A `print` or a `breakpoint`, behind the statements that its values need."""
    at = translator.writer.at
    assert isinstance(call.func, ast.Name)
    if call.func.id == "breakpoint":
        if call.args or call.keywords:
            raise scope.error(call, "breakpoint takes no arguments here", "write `breakpoint()`")
        return Pause(at=at)
    if call.keywords:
        raise scope.error(call, "print takes only texts and values here", 'write one f-string: print(f"x {s.x[i]}")')
    return Print(tuple(row(part, scope, translator) for part in call.args), at=at)


def row(node: ast.expr, scope: Scope, translator: Translator) -> tuple[str | Shown, ...]:
    """One argument of `print`: a text, an f-string or a value."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return (node.value,)
    if isinstance(node, ast.JoinedStr):
        parts = (row(part, scope, translator) for part in node.values)
        return tuple(part for group in parts for part in group)
    if isinstance(node, ast.FormattedValue):
        (shown,) = row(node.value, scope, translator)
        spec = node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else []
        if not all(isinstance(part, ast.Constant) for part in spec):
            raise scope.error(node, "a format cannot be computed here", 'write it out: f"{s.x[i]:.2f}"')
        words = "".join(str(part.value) for part in spec if isinstance(part, ast.Constant))
        return (Shown(shown.value, words),) if isinstance(shown, Shown) else (shown,)
    if isinstance(node, ast.Name) and isinstance(marker := scope.names.get(node.id), Marker):
        if marker is LANE:
            return (Shown("lane"),)
        raise scope.error(node, f"print cannot show the {marker.what}", "show its numbers: print(s.field[i])")
    return (Shown(settle(translator.expressions.expr(node, scope))),)


def writes(block: Sequence[Stmt]) -> bool:
    """Whether statements write the game or a verb's result."""
    for statement in block:
        inside: tuple[Stmt, ...] = ()
        if isinstance(statement, If):
            inside = (*statement.body, *statement.orelse)
        elif isinstance(statement, For):
            inside = statement.body
        if isinstance(statement, (Store, Out, Emit)) or writes(inside):
            return True
    return False
