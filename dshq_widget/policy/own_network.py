"""A network of a person's own, a module of PyTorch: where every process finds it, and what a file says of it.

A file has the name and a hash of the parameters (`OwnSpec.own`), and its name is never imported: whoever opens it gives
the network (docs/howto/own-network.md). torch is not imported.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dshq_widget.policy.layout import Layout

NAME = re.compile(r"[a-zA-Z_]\w*(\.[a-zA-Z_]\w*)*:[a-zA-Z_]\w*", re.ASCII)
HASH = re.compile(r"[0-9a-f]{16}", re.ASCII)
LONGEST_NAME = 200
MOST_FLOATS = 20_000_000
"""A policy file holds three times as many, Adam's moments too (checkpoint.py, `MAX_FILE_BYTES`)."""
Tensors = tuple[tuple[str, tuple[int, ...]], ...]
"""Names and shapes."""
MEAN, SCALE, VALUE_SCALE = "observation_mean", "observation_scale", "value_scale"
"""Buffers that stand around a person's module (own_module.py): what it reads is `(observation - mean) * scale`, and its
values are multiplied by the third.
"""


class NetworkError(ValueError):
    """A network of a person's own that cannot be used. The message says what was wanted and what it gave."""


@dataclass(frozen=True)
class Found:
    """A factory, `make(observation_shape, action_size)`, as every process finds it: `name` is "module:NAME", and the
    module may lie in `folder`.
    """

    name: str
    folder: str
    make: Callable[..., Any] = dataclasses.field(repr=False, compare=False)

    @classmethod
    def of(cls, make: Callable[..., Any]) -> Found:
        """Of a class or a function that is imported already. Raises NetworkError for one that no other process can
        import: of a notebook's cell, of a script that runs, or made inside a function.
        """
        module, name = getattr(make, "__module__", ""), getattr(make, "__qualname__", "")
        if module == "__main__":
            raise NetworkError(
                f"{name} is used in processes of their own, which cannot import a notebook's cell or a script that "
                "runs: write it into a file (`%%writefile my_network.py`) and import that"
            )
        home = sys.modules.get(module)
        file = Path(getattr(home, "__file__", None) or "").resolve()
        if not callable(make) or getattr(home, name, None) is not make or not file.is_file():
            raise NetworkError(
                "network: wanted a class or a function that a module has under its name, such as MyNet of "
                f"my_network.py, got {make!r:.60}"
            )
        return cls(f"{module}:{name}", str(file.parents[module.count(".") + (file.stem == "__init__")]), make)

    def to_json(self) -> dict[str, str]:
        """What travels to another process."""
        return {"name": self.name, "folder": self.folder}

    @classmethod
    def from_json(cls, values: Mapping[str, str], find: Callable[[str, str], Any]) -> Found:
        """What `to_json` wrote; `find(name, folder)` imports it."""
        return cls(values["name"], values["folder"], find(values["name"], values["folder"]))


class Shape(Protocol):
    """What a module is made of and computes with: an `OwnSpec` (own_spec.py)."""

    @property
    def found(self) -> Found | None: ...
    @property
    def name(self) -> str:
        """Of the factory, "module:NAME"."""
        ...

    @property
    def layout(self) -> Layout: ...
    @property
    def n_actions(self) -> int: ...
    @property
    def tensors(self) -> Tensors:
        """What flat weights hold, in their order; empty while nobody knows."""
        ...

    @property
    def places(self) -> dict[str, slice]:
        """Where in the flat weights each of them is."""
        ...


def is_described(values: Mapping[str, Any]) -> bool:
    """Whether a file says of its network what `OwnSpec.own` does."""
    if set(values) != {"name", "tensors"} or not all(isinstance(text, str) for text in values.values()):
        return False
    name, tensors = values["name"], values["tensors"]
    return len(name) <= LONGEST_NAME and bool(NAME.fullmatch(name) and HASH.fullmatch(tensors))


def needed(values: Mapping[str, Any]) -> str:
    """The sentence that a file's network is a person's own, who has to give it."""
    name = values["name"]
    return (
        f"it has a network of your own, {name}, and a file may not import a module: give it, network=... in Python, "
        f"--network {name} in `dshq train`, `dshq evaluate` and `dshq play`; nothing else plays it"
    )


def other(values: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Why a file with the network `values` does not continue with the one that is given, both as `PolicySpec.own` says;
    "" if it does.
    """
    if values and not given:
        return needed(values)
    if given and not values:
        return f"it has a network of layers, not {given['name']}: leave network out"
    if values and values["tensors"] != given["tensors"]:
        return f"its network {values['name']} has other parameters than {given['name']}: give the one that it has"
    return ""
