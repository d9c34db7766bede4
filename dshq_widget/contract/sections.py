"""One algorithm's own settings: a frozen dataclass of `setting.setting` fields, read strictly from a mapping.

A section has the algorithm's name. It is a section of a YAML file, `--NAME-KEY` flags, and
`Trainer(algorithm_settings={NAME: {...}})`. To declare one:

    @dataclasses.dataclass(frozen=True)
    class MySettings(Section):
        floor: float = setting(0.1, "float", "Floor", NEXT_UPDATE, "mine", unit="share", lo=0.0, hi=1.0)
        \"\"\"Smallest share of samples that is sent.\"\"\"

    ALGORITHM = Algorithm("mine", start, settings=MySettings)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from dshq_widget.contract.setting import ConfigError, docs, nearest, parse_value, shown, spelled

NAME = r"[a-z][a-z0-9_]{0,30}"
"""An algorithm's name, and its section's."""


@dataclasses.dataclass(frozen=True)
class Section:
    """Base of an algorithm's settings. Every value is parsed and checked when it is created; raises ConfigError."""

    ALIASES: ClassVar[Mapping[str, str]] = {}
    """Other spellings accepted on input, and the keys under which they are stored."""
    COUNTED: ClassVar[Mapping[str, str]] = {}
    """Names that count something else elsewhere, so that their values cannot be taken as they are: what to give."""

    def __post_init__(self) -> None:
        for key, field in fields(type(self)).items():
            object.__setattr__(self, key, parse_value(key, getattr(self, key), field))

    def to_json(self) -> dict[str, Any]:
        """All settings as plain JSON values; `read` takes them back."""
        values = dataclasses.asdict(self)
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


S = TypeVar("S", bound=Section)


def fields(kind: type[Section]) -> dict[str, Mapping[str, Any]]:
    """Key -> metadata of each setting (see `setting.about`)."""
    return {field.name: field.metadata for field in dataclasses.fields(kind)}


def canonical(kind: type[Section], values: Mapping[str, Any], name: str) -> dict[str, Any]:
    """`values` of the section `name` under the settings' own keys, parsed; flags' dashes are read as underscores.
    Raises ConfigError, for an unknown key with the nearest one.
    """
    known = fields(kind)
    out: dict[str, Any] = {}
    for given, value in values.items():
        key = spelled(given, kind.ALIASES)
        if key not in known:
            hint = nearest(key, [*known, *kind.ALIASES]) or "; its settings are " + ", ".join(known)
            if key in kind.COUNTED:
                hint = f": give {kind.COUNTED[key]}"
            raise ConfigError(f"unknown setting {shown(str(given))} in section {name}{hint}")
        if key in out:
            raise ConfigError(f"{key} is given twice in section {name}, the second time as {str(given)!r}: remove one")
        out[key] = parse_value(f"{name}.{key}", value, known[key])
    return out


def read(kind: type[S], name: str, *layers: Mapping[str, Any] | None) -> S:
    """The defaults of the section `name`, overridden by each mapping of settings in turn; raises ConfigError."""
    values: dict[str, Any] = {}
    for layer in layers:
        values |= canonical(kind, layer or {}, name)
    return kind(**values)


def schema(kind: type[Section]) -> dict[str, dict[str, Any]]:
    """What the page needs to show each setting: its metadata (see `setting.about`) and its docstring as `help`."""
    known, help_of = fields(kind), docs(kind)
    return {key: {**field, "choices": list(field["choices"]), "help": help_of[key]} for key, field in known.items()}
