"""Puts back what an answer has changed in what its check is made of: modules, classes, functions, constants."""

from __future__ import annotations

import contextlib
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

GUARDED = (
    *("dshq_widget", "dshq_kernels", "numpy", "torch"),
    *("builtins", "importlib", "inspect", "sys", "types", "json", "os"),
)
"""Packages that an answer may not change; what a check needs comes from there."""
CHECKS = "dshq_widget.lessons", "dshq_widget.drills"
"""Where constants are put back, too, such as the drills by name: those of others may be large, or change by
themselves.
"""
OWN = ("__dict__", "__weakref__")
"""Of a class: cannot be set."""


@contextlib.contextmanager
def guarded() -> Iterator[None]:
    """What the block changes in the modules of GUARDED is put back. What it does to them while a check calls it is seen
    by that check.
    """
    back, seen = list[Callable[[], None]](), set[int]()
    loaded = {key: module for key, module in sys.modules.items() if key.partition(".")[0] in GUARDED}
    for module in loaded.values():
        if isinstance(module, types.ModuleType):
            back.append(_module(module))
            for value in list(vars(module).values()):
                _remember(value, back, seen, constants=module.__name__.startswith(CHECKS))
    try:
        yield
    finally:
        sys.settrace(None)
        sys.setprofile(None)
        threading.settrace(None)
        threading.setprofile(None)
        for put_back in back:
            put_back()
        sys.modules.update(loaded)


def _remember(value: Any, back: list[Callable[[], None]], seen: set[int], constants: bool = False) -> None:
    """Add to `back` what puts `value` back, and all that its code consists of."""
    if id(value) in seen:
        return
    inner, kind = list[Any](), type(value)  # `isinstance` asks the value for its class, and torch's answer by warnings
    if issubclass(kind, types.FunctionType):
        back.append(_function(value))
        inner += [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
    elif issubclass(kind, type) and value.__module__.partition(".")[0] in GUARDED:
        back.append(_class(value))
        inner += list(vars(value).values())
    elif issubclass(kind, staticmethod | classmethod):
        inner.append(value.__func__)
    elif issubclass(kind, property):
        inner += [value.fget, value.fset]
    elif constants and issubclass(kind, dict | list | set | np.ndarray):
        back.append(_constant(value))
    elif not issubclass(kind, types.ModuleType) and hasattr(kind, "__wrapped__"):
        inner.append(value.__wrapped__)
    else:
        return
    seen.add(id(value))
    for part in inner:
        _remember(part, back, seen)


def _is_full(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _module(module: types.ModuleType) -> Callable[[], None]:
    values = dict(vars(module))

    def put_back() -> None:
        now = vars(module)
        for key in [key for key in now if key not in values and not isinstance(now[key], types.ModuleType)]:
            del now[key]
        now.update(values)

    return put_back


def _class(of: type) -> Callable[[], None]:
    values = dict(vars(of))

    def put_back() -> None:
        now = dict(vars(of))
        for key in now.keys() - values.keys():
            type.__delattr__(of, key)
        for key, value in values.items():
            if key not in OWN and now.get(key) is not value:
                type.__setattr__(of, key, value)

    return put_back


def _function(of: types.FunctionType) -> Callable[[], None]:
    code, defaults, named = of.__code__, of.__defaults__, dict(of.__kwdefaults__ or {})
    cells = [(cell, cell.cell_contents) for cell in of.__closure__ or () if _is_full(cell)]

    def put_back() -> None:
        of.__code__, of.__defaults__, of.__kwdefaults__ = code, defaults, named or None
        for cell, content in cells:
            cell.cell_contents = content

    return put_back


def _constant(of: Any) -> Callable[[], None]:
    value = of.copy()

    def put_back() -> None:
        if isinstance(of, np.ndarray):
            of[...] = value
        elif isinstance(of, list):
            of[:] = value
        else:
            of.clear()
            of.update(value)

    return put_back
