"""What an answer may take from modules: each path is followed through what is there."""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
import types
from collections.abc import Set
from typing import Any

import numpy as np
import numpy.fft
import numpy.linalg
import numpy.random
import numpy.typing

OURS = "dshq_widget"
IMPORTS = frozenset({"__future__", "collections", "dataclasses", OURS, "itertools", "math", "numpy", "typing"})
"""Modules that every answer may import; further ones are those that its lesson imports."""
OF_NUMPY = frozenset({"numpy.fft", "numpy.linalg", "numpy.random", "numpy.typing"})
"""Its modules that an answer may import."""
OF_OTHERS = {
    "gymnasium": ("spaces", "wrappers"),
    "torch": (
        *("autograd", "cuda", "distributions", "distributions.categorical", "distributions.normal", "fft", "linalg"),
        *("nn", "nn.functional", "nn.init", "nn.parameter", "nn.utils", "nn.utils.rnn", "optim", "random", "special"),
        *("utils", "utils.data"),
    ),
}
"""Modules of others that an answer may import where its lesson imports them."""
NOTHING = object()
DEEPEST = 20
"""Names in a path: each is looked up."""
_PRIVATE = re.compile(r"_(?!_)\w*")
"""Parts of a module that are not for its users."""


class Border:
    """What an answer may take from modules: those of `allowed`, and of this package what its lesson takes (`ours`). No
    module's own imports are among it: one of them, by whatever name, is Python itself.
    """

    def __init__(self, allowed: Set[str], ours: Set[str]) -> None:
        self._allowed, self._ours = allowed, ours
        installed = {OURS, "matplotlib", "numpy", *OF_OTHERS, *sys.stdlib_module_names}
        self._roots = {path.partition(".")[0] for path in allowed} & installed  # no file of somebody's is imported here

    def way(self, path: str) -> tuple[list[str], bool]:
        """The first part of a path from a module, such as `numpy.lib`, that an answer may not take, or nothing; and
        whether the path is a module itself.
        """
        so_far, *names = path.split(".")
        if len(names) > DEEPEST:
            return [f"{path[:40]}..."], False
        found: Any = None
        if so_far in self._roots:
            with contextlib.suppress(Exception):  # the lesson's own, of a broken installation, say
                found = importlib.import_module(so_far)
        for name in names:
            so_far += f".{name}"
            if name == "*" or _PRIVATE.fullmatch(name) or not self._is_open(so_far):
                return [so_far], False
            if isinstance(found, types.ModuleType):
                found = _part(found, name, so_far)
                if found is NOTHING:  # whose error hands the module on
                    return [so_far], False
                if isinstance(found, types.ModuleType) and not self._is_open(so_far, found):
                    return [so_far], False
        return [], isinstance(found, types.ModuleType)

    def _is_open(self, path: str, module: types.ModuleType | None = None) -> bool:
        """Whether an answer may name this path, or this module by it."""
        if not path.startswith(f"{OURS}."):
            return module is None or path in self._allowed
        if any(_is_part(one, path) for one in self._ours):
            return True
        return any(_is_part(path, one) for one in self._ours) and (module is None or module.__name__ == path)


def _part(module: types.ModuleType, name: str, path: str) -> Any:
    """What a module has by that name, or NOTHING; a module of this package also where nobody has imported it."""
    if module is np:
        return vars(np).get(name, NOTHING)  # what it makes when asked for, it warns about
    with contextlib.suppress(Exception):
        return getattr(module, name)
    if path.startswith(f"{OURS}."):
        with contextlib.suppress(Exception):
            return importlib.import_module(path)
    return NOTHING


def _is_part(path: str, whole: str) -> bool:
    return f"{path}.".startswith(f"{whole}.")
