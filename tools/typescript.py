"""TypeScript types of Python's dataclasses and named tuples, as JSON has their values: for `tools/tables.py`."""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from dshq_widget.contract.settings import docs
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
    return f"{_comment(kind.__doc__, '')}export interface {kind.__name__}{extends} {{\n{''.join(lines)}}}\n"


def type_of(hint: Any) -> str:
    """The TypeScript type of a Python type."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if origin is Literal:
        return " | ".join(_literal(value) for value in inner)
    if origin in (Union, types.UnionType):
        return " | ".join(type_of(one) for one in inner)
    if origin is tuple and inner[-1] is ...:
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


def _comment(text: str | None, indent: str) -> str:
    return f"{indent}/** {' '.join(text.split())} */\n" if text else ""
