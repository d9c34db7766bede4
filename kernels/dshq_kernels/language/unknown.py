"""What an error says of a name that stands for nothing a rule can use: what was meant, or what there is."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from dshq_kernels.language.reading import BUILTIN, LIBRARY, Reader
from dshq_kernels.language.scope import LANE, STATE, Marker, Scope, Undefined

LISTED = 5
"""Names of one kind that an error lists."""
TWO = ("min", "max", "hash32")
"""Words that take two values."""


def suggest(name: str, known: Iterable[str], otherwise: str) -> str:
    """The fix for an unknown name: the nearest known one, or what to do instead."""
    near = get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]!r}?" if near else otherwise


def no_value(node: ast.Name | ast.Attribute, found: Any, scope: Scope, reader: Reader) -> tuple[str, str]:
    """The error and the fix, where a value is wanted. `found`: what Python has under that name, or None."""
    name = ast.unparse(node)
    if isinstance(node, ast.Attribute) and scope.marks_field(node):
        fields = _fields(scope, reader)
        if node.attr in fields:
            return f"{name!r} is a field of all games at once", f"write `{fields[node.attr]}`"
        return f"the state has no field {node.attr!r}", _nearest(node.attr, fields) or _fields_there_are(fields)
    if isinstance(found, types.FunctionType) or (isinstance(found, str) and found in BUILTIN.values()):
        return f"{name!r} is a function, and a value is wanted", f"call it: `{_called(name, found)}`"
    values = [known for known, value in scope.names.items() if not isinstance(value, (Marker, Undefined))]
    near = get_close_matches(name, [*values, *reader.numbers(scope.parsed)], 1)
    if near:
        return _not_known(name, "a local, a constant or a rule", scope), f"did you mean {near[0]!r}?"
    fields, callables = _fields(scope, reader), _callables(scope, reader)
    mend = _nearest(name, fields | callables) or _may_use(scope, reader, "define it as a module or class constant")
    return _not_known(name, "a local, a constant or a rule", scope), mend


def no_rule(name: str, scope: Scope, reader: Reader) -> tuple[str, str]:
    """The error and the fix, where something is called."""
    known = [*LIBRARY, *BUILTIN, *_callables(scope, reader)]
    mend = suggest(name, known, _may_use(scope, reader, "define it as a function marked @rule"))
    return _not_known(name, "a rule", scope), mend


def _is_one_line(scope: Scope) -> bool:
    """Whether the rule is a text of one line (subset.py, `written_rule`): nothing can be defined around it."""
    return hasattr(scope.parsed.function, "__dshq_source__")


def _not_known(name: str, wanted: str, scope: Scope) -> str:
    return f"{name!r} is not {'known here' if _is_one_line(scope) else wanted}"


def _fields(scope: Scope, reader: Reader) -> dict[str, str]:
    """Field of the state -> how this rule writes it; empty in a rule that has no state or no lane."""
    called = {value: name for name, value in scope.names.items() if isinstance(value, Marker)}
    if STATE not in called or LANE not in called:
        return {}
    state, lane = called[STATE], called[LANE]
    return {f.name: f"{state}.{f.name}[{'k, ' if f.length else ''}{lane}]" for f in reader.fields.values()}


def _callables(scope: Scope, reader: Reader) -> dict[str, str]:
    """Rule that this one may call -> how a call of it looks. A rule of one line calls the drill's rewards."""
    rules = reader.source.rules
    if _is_one_line(scope):
        known: dict[str, Any] = {name: rules[name] for name in reader.source.terms if name in rules}
    else:
        around = scope.parsed.function.__globals__
        known = {name: value for name, value in around.items() if hasattr(value, "__dshq_rule__")} | dict(rules)
    return {name: _called(name, rule) for name, rule in known.items() if name != scope.parsed.node.name}


def _called(name: str, function: Callable[..., Any] | str) -> str:
    if isinstance(function, types.FunctionType):
        taken = function.__code__.co_varnames[: function.__code__.co_argcount]
    else:
        taken = ("a", "b") if function in TWO else ("x",)
    return f"{name}({', '.join(taken)})"


def _nearest(name: str, forms: Mapping[str, str]) -> str:
    """The fix where one of these names is near, in the form that stands in a rule; else ""."""
    near = get_close_matches(name, list(forms), 1)
    return f"did you mean `{forms[near[0]]}`?" if near else ""


def _fields_there_are(fields: Mapping[str, str]) -> str:
    return f"declare it in `state` ({', '.join(fields)})"


def _may_use(scope: Scope, reader: Reader, otherwise: str) -> str:
    """What a rule of one line may use; `otherwise` for a rule of a module or a class."""
    if not _is_one_line(scope):
        return otherwise
    fields = _fields(scope, reader)
    kinds = {
        "the state": [fields[name] for name in reader.source.state],
        "the rewards": list(_callables(scope, reader).values()),
        "the constants": list(reader.source.constants),
    }
    there = ", ".join(f"{kind} ({_some(names)})" for kind, names in kinds.items() if names)
    return f"use {there} or the words in docs/reference/rules.md"


def _some(names: list[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")
