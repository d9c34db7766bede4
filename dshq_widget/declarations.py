"""What a drill declares, checked before its rules are translated: everything that the translation would not notice,
each with the line of the class that says it.
"""

from __future__ import annotations

import ast
import linecache
from difflib import get_close_matches
from math import prod
from string import ascii_uppercase, digits
from typing import Any

from dshq_kernels.layers import parse, written
from dshq_kernels.subset import DeclarationError

CODES = {
    *(f"Key{letter}" for letter in ascii_uppercase),
    *(f"{block}{digit}" for block in ("Digit", "Numpad") for digit in digits),
    *(f"Arrow{way}" for way in ("Up", "Down", "Left", "Right")),
    *(f"{key}{hand}" for key in ("Shift", "Control", "Alt") for hand in ("Left", "Right")),
    *(f"Numpad{key}" for key in ("Add", "Subtract", "Multiply", "Divide", "Decimal", "Enter")),
    *("Backquote", "Backslash", "BracketLeft", "BracketRight", "Comma", "Equal", "IntlBackslash", "Minus", "Period"),
    *("Quote", "Semicolon", "Slash", "Space", "Enter", "Backspace", "Delete", "Insert", "Home", "End", "PageUp"),
    "PageDown",
}
"""Keys that a drill may give a meaning: KeyboardEvent.code of the W3C's UI Events, without those that the page or the
browser keeps for itself (Escape, Tab, F1 .. F12).
"""


RULES = ("reset", "decide", "tick", "observe", "terminated", "winner", "mask", "scene")
"""Rules that a drill is asked for by name."""


def attributes(base: type) -> set[str]:
    """What a subclass of `base`, which is Drill, may declare."""
    return {name for name in vars(base) if not name.startswith("_")} | {"name"}


def check(drill: Any, base: type) -> None:
    """Raises DeclarationError for the first thing that is wrong, and TypeError for what is no subclass of `base`."""
    if not (isinstance(drill, type) and issubclass(drill, base)):
        raise TypeError(f"wanted a Drill subclass, got {drill!r}: write `class MyDrill(Drill): ...` and pass the class")
    name = getattr(drill, "name", None)
    if not isinstance(name, str) or not name.isidentifier():
        raise DeclarationError(f'wanted a short identifier such as name = "my_drill", got {name!r}', "name")
    declared: Any = drill
    _check_time(declared)
    _check_actions(declared)
    _check_names_of_fields(declared)
    _check_paints(declared)
    _check_terms(declared)
    _check_members(declared, base)


def _check_time(drill: Any) -> None:
    if drill.sides not in (1, 2):
        raise DeclarationError(f"sides is 1 or 2, got {drill.sides!r}", "sides")
    if drill.time_limit % drill.action_repeat or drill.time_limit <= 0:
        raise DeclarationError(
            f"time_limit ({drill.time_limit} ticks) must be a positive multiple "
            f"of action_repeat ({drill.action_repeat})",
            "time_limit",
        )
    if drill.target is not None and drill.sides != 1:
        raise DeclarationError(f"target ({drill.target}) is for drills of one side; leave it out", "target")


def _check_actions(drill: Any) -> None:
    for attribute, article, example in (
        ("actions", "action", '(Choice("move", ("stay", "go")),)'),
        ("observations", "observation", '(Observation("x"),)'),
    ):
        if not getattr(drill, attribute):
            raise DeclarationError(f"declare at least one {article}, `{attribute} = {example}`", attribute)
    options = {choice.name: choice.options for choice in drill.actions}
    for code, (choice, option) in drill.keys.items():
        if code not in CODES:
            likely = [
                kind + code.capitalize() for kind in ("Arrow", "Key", "Digit") if kind + code.capitalize() in CODES
            ]
            near = likely or get_close_matches(code, CODES, 1)
            mend = f"did you mean {near[0]!r}?" if near else 'write names such as "KeyA", "ArrowLeft" or "Space"'
            raise DeclarationError(f"there is no key {code!r} (KeyboardEvent.code); {mend}", "keys", code)
        if choice not in options or option not in options[choice]:
            near = get_close_matches(option, options.get(choice, ()), 1) or get_close_matches(choice, options, 1)
            mend = f"; did you mean {near[0]!r}?" if near else ""
            raise DeclarationError(f"key {code!r} means {(choice, option)!r}, which is no action{mend}", "keys", code)
    try:
        actions = prod(len(choice.options) for choice in drill.actions)
        parse((len(drill.observations), *written(drill.front), actions + 1))
    except ValueError as error:
        raise DeclarationError(f"its front does not fit its observations and actions: {error}", "front") from error


def _check_names_of_fields(drill: Any) -> None:
    for field in drill.half_turn:
        if field not in drill.state:
            raise DeclarationError(
                f"half_turn names the state field {field!r}, which does not exist", "half_turn", field
            )
    for handle in drill.drag:
        for field in (handle.x, handle.y, handle.vx, handle.vy):
            if field not in drill.state:
                raise DeclarationError(
                    f"handle {handle.name!r} names the state field {field!r}, which does not exist", "drag", field
                )


def _check_paints(drill: Any) -> None:
    for colour, shade in drill.shades.items():
        if colour not in drill.palette or shade not in range(4):
            raise DeclarationError(
                f"shades gives {colour!r} {shade!r}; wanted a name of the palette and 0, 1, 2 or 3", "shades", colour
            )


def _check_terms(drill: Any) -> None:
    clash = set(drill.rewards) & set(drill.potentials)
    if clash:
        raise DeclarationError(
            f"{sorted(clash)} are both rewards and potentials; give each term one kind", "potentials", min(clash)
        )
    for attribute in ("rewards", "potentials", "baselines"):
        for name in getattr(drill, attribute):
            if not _is_rule(getattr(drill, name, None)):
                raise DeclarationError(
                    f"{name!r} is declared but there is no rule of that name: add `@rule def {name}(s, i, side): ...`",
                    attribute,
                    name,
                )


def _check_members(drill: Any, base: type) -> None:
    """Names that mean nothing and are near to one that does, and rules without their mark."""
    may = attributes(base)
    members = {n: value for part in drill.__mro__ if part not in (object, base) for n, value in vars(part).items()}
    rules = {n: value for n, value in members.items() if _is_rule(value)}
    used = {word for value in rules.values() for word in value.__code__.co_names}
    for n in sorted(set(members) - used - may - set(RULES)):
        near = get_close_matches(n, RULES if n in rules else may, 1, cutoff=0.8)
        if near and n not in (*drill.rewards, *drill.potentials, *drill.baselines):
            raise DeclarationError(f"{n!r} means nothing to a drill and no rule uses it; did you mean {near[0]!r}?", n)
    for n in RULES:
        if callable(vars(drill).get(n)) and not _is_rule(vars(drill)[n]):
            raise DeclarationError(f"{n!r} is not marked: write @rule on the line above it", n)


def _is_rule(value: object) -> bool:
    return hasattr(value, "__dshq_rule__")


# ---- where it stands


def place(drill: type, error: DeclarationError) -> str:
    """ "FILE:LINE: " of what `error` is about, "" for a class whose source is not at hand."""
    for part in drill.__mro__:
        file, node = _source(part)
        for statement in node.body if node else ():
            if error.attribute in _names(statement):
                return f"{file}:{_line(statement, error.item)}: "
    file, node = _source(drill)
    return f"{file}:{node.lineno}: " if node else ""


def _source(drill: type) -> tuple[str, ast.ClassDef | None]:
    """The file and the syntax of a class, found by one of its rules: a notebook's class knows no file of its own."""
    for code in (value.__code__ for value in vars(drill).values() if _is_rule(value)):
        lines = linecache.getlines(code.co_filename)
        for node in ast.walk(ast.parse("".join(lines))):
            named = isinstance(node, ast.ClassDef) and node.name == drill.__name__
            if named and node.lineno <= code.co_firstlineno <= (node.end_lineno or 0):
                return code.co_filename, node
    return "", None


def _names(statement: ast.stmt) -> list[str]:
    """What a statement of a class body gives a value to."""
    match statement:
        case ast.FunctionDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _line(statement: ast.stmt, item: str | None) -> int:
    """Where the text `item` stands in it, or where it begins."""
    words = (node for node in ast.walk(statement) if isinstance(node, ast.Constant) and node.value == item)
    return next((node.lineno for node in words if item is not None), statement.lineno)
