"""TypeScript types of Python's dataclasses and named tuples, as JSON has their values: for `tools/tables.py`."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from dshq_widget.contract.messages import Message, Value
from dshq_widget.contract.setting import docs
from dshq_widget.policy.action_spaces import Actions

PLAIN: dict[Any, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    Any: "unknown",
    Actions: "unknown",  # the page does not read it
}


def interface(kind: type) -> str:
    """A dataclass as `export interface`, a named tuple as `export type`; what a base class has is not repeated."""
    if not dataclasses.is_dataclass(kind):
        named = ", ".join(f"{name}: {type_of(hint)}" for name, hint in get_type_hints(kind).items())
        return f"{_comment(kind.__doc__, '')}export type {kind.__name__} = [{named}];\n"
    base = next((one for one in kind.__bases__ if dataclasses.is_dataclass(one)), None)
    hints, said = get_type_hints(kind), docs(kind)
    inherited = {field.name for field in dataclasses.fields(base)} if base else set()
    lines = [
        f"{_comment(said.get(field.name), '  ')}  {field.name}: {type_of(hints[field.name])};\n"
        for field in dataclasses.fields(kind)
        if field.name not in inherited
    ]
    extends = f" extends {base.__name__}" if base else ""
    return f"{_about(kind)}export interface {kind.__name__}{extends} {{\n{''.join(lines)}}}\n"


def message(kind: type[Message]) -> str:
    """A message as `export interface`, with its `type`; a field that may be left out has a default."""
    hints, said = get_type_hints(kind), docs(kind)
    lines = [
        f"{_comment(said.get(field.name), '  ')}  {field.name}{'' if field.default is dataclasses.MISSING else '?'}: "
        f"{type_of(hints[field.name])};\n"
        for field in dataclasses.fields(kind)
    ]
    body = f'  type: "{kind.kind()}";\n{"".join(lines)}'
    if kind.SETTINGS:
        return f"{_about(kind)}export type {kind.__name__} = {{\n{body}}} & Record<string, {type_of(Value)}>;\n"
    return f"{_about(kind)}export interface {kind.__name__} {{\n{body}}}\n"


def union(name: str, kinds: Sequence[type]) -> str:
    """The type of one of several."""
    return f"export type {name} =\n" + "\n".join(f"  | {kind.__name__}" for kind in kinds) + ";\n"


def type_of(hint: Any) -> str:
    """The TypeScript type of a Python type."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if origin is Literal:
        return " | ".join(_literal(value) for value in inner)
    if origin in (Union, types.UnionType):
        return " | ".join(type_of(one) for one in inner)
    if origin is list or (origin is tuple and inner[-1] is ...):
        one = type_of(inner[0])
        return f"({one})[]" if "|" in one else f"{one}[]"
    if origin is tuple:
        return f"[{', '.join(type_of(one) for one in inner)}]"
    if origin in (dict, Mapping):
        return f"Record<{type_of(inner[0])}, {type_of(inner[1])}>"
    if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or issubclass(hint, tuple)):
        return hint.__name__
    raise TypeError(f"{hint} has no TypeScript type here: add one to tools/typescript.py")


def _literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


def _about(kind: type) -> str:
    """The comment of a class; a dataclass without a text of its own has its signature there."""
    text = kind.__doc__ or ""
    return "" if text.startswith(f"{kind.__name__}(") else _comment(text, "")


def _comment(text: str | None, indent: str) -> str:
    return f"{indent}/** {' '.join(text.split())} */\n" if text else ""
