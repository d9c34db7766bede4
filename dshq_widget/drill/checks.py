"""The checks of every declaration of a drill before the rules are translated. Each error
names its line of the class.
"""

from __future__ import annotations

import ast
import linecache
import math
import types
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from math import prod
from string import ascii_uppercase, digits
from typing import Any

from dshq_kernels.language.subset import DeclarationError
from dshq_kernels.network.layers import MOST_WORK, work, written
from dshq_widget.contract.game_spec import DEFAULT_ALGORITHM, Cells, Choice, Handle, Observation
from dshq_widget.contract.protocol import SPEEDS

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
"""Keys that a drill may use: KeyboardEvent.code of the W3C's UI Events, without those used by the page or the browser
(Escape, Tab, F1 to F12).
"""


MOST_WORDS = 1 << 17
"""Numbers of a game's state, 4 bytes each: half a gigabyte for the thousand games that training plays at once."""

MOST_TICKS = (1 << 31) - 1
"""Of an episode: `ticks` counts them, an i32."""

RULES = ("reset", "decide", "tick", "observe", "terminated", "winner", "mask", "scene")
"""Rules with a fixed name."""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < math.inf


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _each(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, (tuple, list)) and all(isinstance(item, kind) for item in value)


def _table(good: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Mapping) and all(isinstance(k, str) and good(v) for k, v in value.items())


def _is_pair(value: Any) -> bool:
    return _each(str)(value) and len(value) == 2


def _is_range(value: Any) -> bool:
    return value is None or (
        isinstance(value, (tuple, list)) and len(value) == 2 and all(map(_is_number, value)) and value[0] < value[1]
    )


WANTED: dict[str, tuple[Callable[[Any], bool], str, str]] = {
    "tick_rate": (_is_count, "a whole number above 0", "60"),
    "action_repeat": (_is_count, "a whole number above 0", "4"),
    "time_limit": (_is_count, "a whole number above 0", "1200"),
    "scene_max": (_is_count, "a whole number above 0", "64"),
    "world": (lambda v: _each(object)(v) and len(v) == 4 and all(map(_is_number, v)), "four numbers", "(-1, -1, 1, 1)"),
    "state": (_table(lambda v: True), "a dict, field: type", '{"x": "f32", "row": ("i32", 8)}'),
    "half_turn": (_each(str), "a tuple of texts", '("x", "y")'),
    "actions": (_each(Choice), "a tuple of Choice", '(Choice("move", ("stay", "go")),)'),
    "keys": (_table(_is_pair), "a dict, key: (choice, option)", '{"KeyA": ("move", "go")}'),
    "observations": (_each(Observation), "a tuple of Observation", '(Observation("x"),)'),
    "observation_range": (_is_range, "two numbers, the lower first, or None", "(-2.0, 2.0)"),
    "rewards": (_table(_is_number), "a dict, rule: weight", '{"win": 1.0}'),
    "potentials": (_table(_is_number), "a dict, rule: weight", '{"near": 0.1}'),
    "baselines": (_each(str), "a tuple of texts", '("chaser",)'),
    "drag": (_each(Handle), "a tuple of Handle", '(Handle("ball", "x", "y", "vx", "vy", kind="ball"),)'),
    "palette": (_each(str), "a tuple of texts", '("floor", "player0")'),
    "shades": (_table(_is_number), "a dict, paint: 0 to 3", '{"floor": 1}'),
    "pointed": (_each(str), "a tuple of texts", '("player0", "player1")'),
    "legend": (_table(lambda v: isinstance(v, str)), "a dict, paint: what it shows", '{"clay": "ore"}'),
    "hint": (lambda v: isinstance(v, str), "a text", '"Watch the blue one."'),
    "tags": (_each(str), "a tuple of texts", '("A", "B")'),
    "algorithm": (lambda v: isinstance(v, str), "a name from algorithms/", f'"{DEFAULT_ALGORITHM}"'),
    "training": (_table(lambda v: True), "a dict, setting: value", '{"num_envs": 64}'),
    "algorithm_settings": (
        _table(lambda v: isinstance(v, Mapping)),
        "a dict, algorithm: its settings",
        '{"mine": {"repeat": 4}}',
    ),
}
"""What a declaration must be: a test, a description and an example."""


def attributes(base: type) -> set[str]:
    """Names that a subclass of `base` (Drill) may declare."""
    return {name for name in vars(base) if not name.startswith("_")} | {"name"}


def check(drill: Any, base: type) -> None:
    """Raises DeclarationError for the first error, and TypeError for anything but a subclass of `base`."""
    if not (isinstance(drill, type) and issubclass(drill, base)):
        raise TypeError(
            f"expected a Drill subclass, got {drill!r}: write `class MyDrill(Drill): ...` and pass the class"
        )
    name = getattr(drill, "name", None)
    if not isinstance(name, str) or not name.isidentifier():
        raise DeclarationError(f'expected a short identifier such as name = "my_drill", got {name!r}', "name")
    declared: Any = drill
    for attribute, (good, wanted, example) in WANTED.items():
        value = getattr(drill, attribute)
        if not good(value):
            raise DeclarationError(
                f"{attribute}: expected {wanted}, such as {attribute} = {example}, got {value!r}", attribute
            )
    _check_time(declared)
    _check_actions(declared)
    _check_size_of_state(declared)
    _check_names_of_fields(declared)
    _check_page(declared)
    _check_paints(declared)
    _check_terms(declared)
    _check_baselines(declared)
    _check_members(declared, base)


def _check_time(drill: Any) -> None:
    if drill.sides not in (1, 2):
        raise DeclarationError(f"sides is 1 or 2, got {drill.sides!r}", "sides")
    if drill.time_limit % drill.action_repeat or not 0 < drill.time_limit <= MOST_TICKS:
        raise DeclarationError(
            f"time_limit ({drill.time_limit} ticks) must be a positive multiple "
            f"of action_repeat ({drill.action_repeat}), {MOST_TICKS:,} at most",
            "time_limit",
        )
    if drill.target is not None and drill.sides != 1:
        raise DeclarationError(f"target ({drill.target}) is only for drills of one side: remove it", "target")
    _check_optimum(drill)


def _check_optimum(drill: Any) -> None:
    optimum = drill.optimum
    if optimum is None:
        return
    if drill.sides != 1:
        raise DeclarationError(f"optimum ({optimum}) is only for drills of one side: remove it", "optimum")
    if optimum not in drill.baselines and not (_is_number(optimum) and optimum > 0):
        named = ", ".join(drill.baselines) or "it has none"
        raise DeclarationError(
            f"optimum: expected a mean return above 0, or the name of a baseline ({named}), got {optimum!r}", "optimum"
        )


def _check_actions(drill: Any) -> None:
    for attribute, article, example in (
        ("actions", "action", '(Choice("move", ("stay", "go")),)'),
        ("observations", "observation", '(Observation("x"),)'),
    ):
        if not getattr(drill, attribute):
            raise DeclarationError(f"declare at least one {article}: `{attribute} = {example}`", attribute)
    options: dict[str, tuple[str, ...]] = {}
    for choice in drill.actions:
        if choice.name in options:
            raise DeclarationError(f"two choices are called {choice.name!r}: give each a different name", "actions")
        if not _each(str)(choice.options) or not choice.options or len(set(choice.options)) < len(choice.options):
            raise DeclarationError(
                f"choice {choice.name!r}: expected different texts as options, got {choice.options!r}",
                "actions",
                choice.name,
            )
        options[choice.name] = choice.options
    for code, (name, option) in drill.keys.items():
        if code not in CODES:
            likely = [
                kind + code.capitalize() for kind in ("Arrow", "Key", "Digit") if kind + code.capitalize() in CODES
            ]
            near = likely or get_close_matches(code, CODES, 1)
            mend = f"did you mean {near[0]!r}?" if near else 'write names such as "KeyA", "ArrowLeft" or "Space"'
            raise DeclarationError(f"there is no key {code!r} (KeyboardEvent.code); {mend}", "keys", code)
        if option not in options.get(name, ()):
            near = get_close_matches(option, options.get(name, ()), 1) or get_close_matches(name, options, 1)
            mend = f"did you mean {near[0]!r}?" if near else f"the choices are {', '.join(map(repr, options))}"
            raise DeclarationError(
                f"key {code!r} means {(name, option)!r}, which is not an action; {mend}", "keys", code
            )
    try:
        actions = prod(len(choice.options) for choice in drill.actions)
        costs = work((len(drill.observations), *written(drill.front), actions + 1))
    except ValueError as error:
        raise DeclarationError(f"the front does not fit the observations and actions: {error}", "front") from error
    if costs > MOST_WORK:
        raise DeclarationError(
            f"the front costs {costs:,} operations a decision, and {MOST_WORK:,} are allowed: use fewer maps, sweeps "
            "or traits",
            "front",
        )


def _check_size_of_state(drill: Any) -> None:
    lengths = {name: kind[1] for name, kind in drill.state.items() if isinstance(kind, tuple) and len(kind) == 2}
    counted = {name: length for name, length in lengths.items() if isinstance(length, int)}
    words = len(drill.state) - len(counted) + sum(counted.values())
    if words > MOST_WORDS:
        largest = max(counted, key=counted.__getitem__)
        raise DeclarationError(
            f"state: expected at most {MOST_WORDS:,} numbers a game, got {words:,}, of which {largest!r} has "
            f"{counted[largest]:,}: a thousand games would take {4e-6 * words:,.3g} GB; keep less of each game",
            "state",
            largest,
        )


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
        if handle.kind not in ("player", "ball"):
            raise DeclarationError(
                f"handle {handle.name!r} is of kind {handle.kind!r}; wanted 'player' or 'ball'", "drag", handle.kind
            )


def _check_page(drill: Any) -> None:
    if not _is_number(drill.show_speed) or drill.show_speed not in SPEEDS:
        raise DeclarationError(
            f"show_speed: expected one of {', '.join(f'{speed:g}' for speed in SPEEDS)}, got {drill.show_speed!r}",
            "show_speed",
        )
    cells = drill.cells
    if cells is None:
        return
    if not isinstance(cells, Cells):
        raise DeclarationError(
            'cells: expected Cells, such as cells = Cells(columns=3, rows=3, x0=0, y0=0, size=1, choice="cell"), '
            f"got {cells!r}",
            "cells",
        )
    if not (_is_count(cells.columns) and _is_count(cells.rows) and _is_number(cells.size) and cells.size > 0):
        raise DeclarationError(
            f"cells: columns and rows are whole numbers above 0 and size is a number above 0, got {cells!r}", "cells"
        )
    options = {choice.name: len(choice.options) for choice in drill.actions}
    if cells.choice not in options:
        raise DeclarationError(
            f"cells names the choice {cells.choice!r}; the choices are {', '.join(map(repr, options))}", "cells"
        )
    if options[cells.choice] != cells.columns * cells.rows:
        raise DeclarationError(
            f"cells: the choice {cells.choice!r} needs one option for each of {cells.columns} x {cells.rows} cells, "
            f"got {options[cells.choice]}",
            "cells",
        )


def _check_paints(drill: Any) -> None:
    for colour, shade in drill.shades.items():
        if colour not in drill.palette or shade not in range(4):
            raise DeclarationError(
                f"shades gives {colour!r} {shade!r}; expected a name of the palette and 0, 1, 2 or 3", "shades", colour
            )
    for colour in drill.pointed:
        if colour not in drill.palette:
            raise DeclarationError(f"pointed names {colour!r}; expected a name of the palette", "pointed", colour)
    for colour in drill.legend:
        if colour not in drill.palette:
            raise DeclarationError(f"legend names {colour!r}; expected a name of the palette", "legend", colour)


def _check_terms(drill: Any) -> None:
    clash = set(drill.rewards) & set(drill.potentials)
    if clash:
        raise DeclarationError(
            f"{sorted(clash)} are both rewards and potentials: choose one kind for each", "potentials", min(clash)
        )
    for attribute in ("rewards", "potentials", "baselines"):
        for name in getattr(drill, attribute):
            if not _is_rule(getattr(drill, name, None)):
                raise DeclarationError(
                    f"{name!r} is declared but there is no rule of that name: add `@rule def {name}(s, i, side): ...`",
                    attribute,
                    name,
                )


def _check_baselines(drill: Any) -> None:
    """Names that each back end can write down, and keep apart from one another's sides."""
    for place, name in enumerate(drill.baselines):
        if name in ("random", "idle") or name.startswith("__"):
            raise DeclarationError(
                f"baseline {name!r}: every drill has something under this name; choose another", "baselines", name
            )
        if name in drill.baselines[:place]:
            raise DeclarationError(f"baseline {name!r} is named twice: name it once", "baselines", name)
        if not name.isascii():
            raise DeclarationError(f"baseline {name!r}: use letters from a to z, digits and _", "baselines", name)
        for other in (f"{name}_0", f"{name}_1"):
            if other in drill.baselines:
                said = f"{name!r} and {other!r}: the second is also what the first is called for one side"
                raise DeclarationError(f"baselines {said}; choose another name", "baselines", other)


def _check_members(drill: Any, base: type) -> None:
    """Reject unknown names that are close to a known one, and rules without @rule."""
    may = attributes(base)
    members = {n: value for part in drill.__mro__ if part not in (object, base) for n, value in vars(part).items()}
    rules = {n: value for n, value in members.items() if _is_rule(value)}
    for n, value in rules.items():
        if not isinstance(value, types.FunctionType):
            kind = type(value).__name__
            raise DeclarationError(f"{n!r} is a {kind}, not a plain function: leave only @rule above it", n)
    used = {word for value in rules.values() for word in value.__code__.co_names}
    for n in sorted(set(members) - used - may - set(RULES)):
        near = get_close_matches(n, RULES if n in rules else may, 1, cutoff=0.8)
        if near and n not in (*drill.rewards, *drill.potentials, *drill.baselines):
            raise DeclarationError(f"{n!r} is not a drill attribute and no rule uses it; did you mean {near[0]!r}?", n)
    for n in RULES:
        if callable(vars(drill).get(n)) and not _is_rule(vars(drill)[n]):
            raise DeclarationError(f"{n!r} is not marked: write @rule on the line above it", n)


def _is_rule(value: object) -> bool:
    return hasattr(value, "__dshq_rule__")


# ---- where it stands


def place(drill: type, error: DeclarationError) -> str:
    """ "FILE:LINE: " of an error, "" for a class without available source."""
    for part in drill.__mro__:
        file, node = _source(part)
        for statement in node.body if node else ():
            if error.attribute in _names(statement):
                return f"{file}:{_line(statement, error.item)}: "
    file, node = _source(drill)
    return f"{file}:{node.lineno}: " if node else ""


def _source(drill: type) -> tuple[str, ast.ClassDef | None]:
    """The file and the syntax tree of a class, found through one of its rules, because a class in a notebook has no
    file.
    """
    rules = (value for value in vars(drill).values() if _is_rule(value))
    for code in (value.__code__ for value in rules if isinstance(value, types.FunctionType)):
        lines = linecache.getlines(code.co_filename)
        for node in ast.walk(ast.parse("".join(lines))):
            if not isinstance(node, ast.ClassDef) or node.name != drill.__name__:
                continue
            if node.lineno <= code.co_firstlineno <= (node.end_lineno or 0):
                return code.co_filename, node
    return "", None


def _names(statement: ast.stmt) -> list[str]:
    """Names assigned by a statement of a class body."""
    match statement:
        case ast.FunctionDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _line(statement: ast.stmt, item: str | None) -> int:
    """Where the text `item` stands in it, or where it begins."""
    words = (node for node in ast.walk(statement) if isinstance(node, ast.Constant) and node.value == item)
    return next((node.lineno for node in words if item is not None), statement.lineno)
