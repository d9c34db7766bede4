"""Reading rules: the input of `translate`, a rule's syntax tree, and the meaning of its names."""

from __future__ import annotations

import ast
import inspect
import keyword
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from dshq_kernels.language import maths, rng
from dshq_kernels.language.ir import I32, TYPES, U32, Field, Origin
from dshq_kernels.language.subset import DeclarationError, RulesError

LIBRARY = {
    name: value for module in (rng, maths) for name, value in vars(module).items() if hasattr(value, "__dshq_rule__")
}
NUMBERS = ("float", "int", "bool", "u32", "i32")
BUILTIN = {name: name for name in ("min", "max", "abs", "sqrt", "floor", "hash32", *NUMBERS)}
BUILTIN |= {"fabs": "abs", "float32": "float", "int32": "i32", "uint32": "u32"}
WORDS: dict[str, Any] = BUILTIN | LIBRARY  # the words in every rule's scope
CONSTANTS = (bool, int, float, np.number, tuple, list)
OTHERWISE_IN_NUMPY = {"sign": "signum"}  # what numpy means by a name that is another word here


@dataclass(frozen=True)
class Source:
    """What `translate` needs from a drill: rules by name and the constants they may read (class attributes), besides
    each rule's globals.
    """

    name: str
    sides: int
    state: Mapping[str, str | tuple[str, int]]
    observations: Sequence[str]
    n_actions: int
    terms: Sequence[str]
    baselines: Sequence[str]
    rules: Mapping[str, Callable[..., Any]]
    constants: Mapping[str, Any] = field(default_factory=dict)
    scene_max: int = 64
    most_statements: int = 20_000
    """That a rule with all that it calls may grow to."""


@dataclass(frozen=True)
class Parsed:
    """A rule's syntax tree and its place in the source, for error messages."""

    function: Callable[..., Any]
    node: ast.FunctionDef
    file: str
    lines: tuple[str, ...]
    first: int
    params: tuple[str, ...]
    own: frozenset[str]
    """Its variables: parameters and whatever it assigns to, as Python has it everywhere in the function."""

    def origin(self, node: ast.stmt, caller: Origin | None = None) -> Origin:
        """The line of a statement; `caller` called the rule, unless it is a verb's own."""
        return Origin(self.file, self.first + node.lineno - 1, self.node.name, caller)

    def error(self, node: ast.AST, what: str, mend: str) -> RulesError:
        """An error that names the line of `node`, what was found there and what to write instead."""
        row = getattr(node, "lineno", 1) - 1
        text = self.lines[row].strip() if row < len(self.lines) else ""
        place = f"{self.file}:{self.first + row}: in rule {self.node.name!r}"
        stop = "" if mend.endswith("?") else "."
        return RulesError(f"{place}: {what}\n    {text}\n{mend[:1].upper()}{mend[1:]}{stop}")


class Reader:
    """Finds and parses the rules of one drill. `fields` is its whole state by name, in order."""

    def __init__(self, source: Source):
        self.source = source
        self.fields = {f.name: f for f in (*common_fields(source.sides), *declared_fields(source))}
        self._parsed: dict[Callable[..., Any], Parsed] = {}

    def parse(self, function: Callable[..., Any]) -> Parsed:
        """The syntax tree of a rule. Raises RulesError if it has no source or is not a plain function."""
        if function not in self._parsed:
            self._parsed[function] = parse(function)
        return self._parsed[function]

    def lookup(self, node: ast.expr, parsed: Parsed) -> Any:
        """The Python object a name or dotted name stands for around a rule; None for nothing and for a variable."""
        if isinstance(node, ast.Attribute):
            owner = self.lookup(node.value, parsed)
            if isinstance(owner, types.ModuleType) and owner.__name__ in ("math", "numpy"):
                named = OTHERWISE_IN_NUMPY.get(node.attr, node.attr) if owner.__name__ == "numpy" else node.attr
                return WORDS.get(named, getattr(owner, node.attr, None))
            return getattr(owner, node.attr, None) if isinstance(owner, (type, types.ModuleType)) else None
        if not isinstance(node, ast.Name) or node.id in parsed.own:
            return None
        found = self.named(node.id, parsed)
        if node.id in OTHERWISE_IN_NUMPY and found is getattr(np, node.id):  # from numpy import sign
            return WORDS[OTHERWISE_IN_NUMPY[node.id]]
        return found if isinstance(found, types.FunctionType) else WORDS.get(node.id, found)

    def value(self, node: ast.expr, parsed: Parsed) -> Any:
        """The number or the table that a name or dotted name stands for around a rule, also where a word or a rule has
        its name; where it stands for none, what `lookup` finds.
        """
        own = self.named(node.id, parsed, CONSTANTS) if isinstance(node, ast.Name) else None
        return self.lookup(node, parsed) if own is None else own

    def has_rule(self, node: ast.expr, parsed: Parsed) -> bool:
        """Whether a name stands for a function marked @rule."""
        return hasattr(self.lookup(node, parsed), "__dshq_rule__")

    def named(self, name: str, parsed: Parsed, kinds: type | tuple[type, ...] = object) -> Any:
        """What stands under a name around a rule and is of these kinds, whatever the word means in the language; or
        None.
        """
        function: Any = parsed.function
        closure = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        scopes: list[Mapping[str, Any]] = [function.__globals__]
        if function in self.source.rules.values():
            scopes = [self.source.rules, self.source.constants, *scopes]
        if name in closure:
            return closure[name].cell_contents if closure[name] != types.CellType() else None
        return next((scope[name] for scope in scopes if name in scope and isinstance(scope[name], kinds)), None)

    def numbers(self, parsed: Parsed) -> list[str]:
        """Names of the constants that a rule may read, for suggestions."""
        known = {**parsed.function.__globals__, **self.source.constants}
        return [name for name, value in known.items() if isinstance(value, (int, float))]


def parse(function: Callable[..., Any]) -> Parsed:
    name = getattr(function, "__name__", str(function))
    written = getattr(function, "__dshq_source__", None)
    try:
        lines, first = (written.splitlines(True), 1) if written else inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise RulesError(
            f"the source of rule {name!r} cannot be read ({error}): define it in a file or a notebook cell"
        ) from error
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    file = name if written else inspect.getsourcefile(function) or "?"
    try:
        text = "".join(line.removeprefix(indent) for line in lines)  # a comment may stand further left
        node: ast.stmt | None = ast.parse(text).body[0]
    except SyntaxError:
        node = None  # a lambda inside something else
    if name == "<lambda>":
        mend = f"write `@rule` and below it `def NAME{inspect.signature(function)}: ...`"
        raise RulesError(f"{file}:{first}: a rule is a `def`, and this is a lambda: {mend}")
    if not isinstance(node, ast.FunctionDef):
        raise RulesError(
            f"{file}:{first}: rule {name!r} is not a plain function: write `def {name}(s, i): ...` under @rule"
        )
    a = node.args
    params = tuple(p.arg for p in a.args)
    parsed = Parsed(function, node, file, tuple(lines), first, params, frozenset({*params, *stored_names(node)}))
    if hasattr(function, "__wrapped__"):
        raise parsed.error(node, "a decorator puts another function around this rule", "leave only `@rule` above it")
    if a.vararg or a.kwarg or a.kwonlyargs or a.defaults or a.posonlyargs:
        raise parsed.error(node, "rules take only plain positional parameters", "remove defaults, * and **")
    return parsed


def common_fields(sides: int) -> tuple[Field, ...]:
    """The fields every state begins with, in order."""
    scalars = (("rng_key", U32), ("rng_count", U32), ("practice", I32), ("ticks", I32))
    return (*(Field(name, kind, 0) for name, kind in scalars), Field("action", I32, sides))


COMMON_FIELDS = tuple(f.name for f in common_fields(2))
TAKEN = ("buffer",)
"""The name of a state's memory in JavaScript."""


def declared_fields(source: Source) -> list[Field]:
    """The drill's own fields. Raises DeclarationError for an unknown type and for the name of a common field."""
    fields = []
    for name, declared in source.state.items():
        where = f"state field {name!r}"
        pair = declared if isinstance(declared, (tuple, list)) and len(declared) == 2 else (declared, 0)
        kind, length = pair
        if isinstance(length, tuple):
            flat = f'"{name}": ("{kind}", {prod(length)})'
            mend = f"flatten it, {flat} and `s.{name}[y * {length[-1]} + x, i]`"
            raise DeclarationError(f"{where}: an array has one length: {mend}", "state", name)
        counts = isinstance(length, int) and not isinstance(length, bool) and length >= 0
        if kind not in TYPES or not counts or not name.isidentifier():
            wanted = f"expected a type of {', '.join(TYPES)} or (type, length)"
            raise DeclarationError(f"{where}: {wanted}, got {declared!r}", "state", name)
        if name in COMMON_FIELDS:
            raise DeclarationError(
                f"{where}: every state already has a field of this name; choose another name", "state", name
            )
        if keyword.iskeyword(name) or name.startswith("__"):
            raise DeclarationError(f"{where}: Python has something else under this name; choose another", "state", name)
        if name in TAKEN:
            raise DeclarationError(f"{where}: the page's state has something else under this name", "state", name)
        fields.append(Field(name, kind, length))
    return fields


def stored_names(*nodes: ast.AST) -> set[str]:
    """The names that these pieces of syntax assign to."""
    walked = (n for node in nodes for n in ast.walk(node))
    return {n.id for n in walked if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
