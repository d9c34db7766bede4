"""What a sweep tries: a range or choices for each setting."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
from collections.abc import Mapping
from typing import Any

from dshq_widget.contract import sections, setting, settings
from dshq_widget.contract.game_spec import GameSpec
from dshq_widget.contract.setting import ConfigError

FORM = "a list of choices such as [0.98, 0.995], or a range such as (1e-4, 1e-2) or (1e-4, 1e-2, 'log')"


@dataclasses.dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, both included; `log`: drawn evenly in the logarithm. Whole numbers are multiples of
    `step`; 0 is for any number.
    """

    low: float
    high: float
    log: bool = False
    step: int = 0

    @property
    def ends(self) -> tuple[Any, ...]:
        """Values of which all others are between: enough to check."""
        return self.low, self.high

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Choices:
    """One of `values`."""

    values: tuple[Any, ...]

    @property
    def ends(self) -> tuple[Any, ...]:
        """All values."""
        return self.values

    def to_json(self) -> list[Any]:
        return [list(value) if isinstance(value, tuple) else value for value in self.values]


Space = dict[str, Range | Choices]


Own = Mapping[str, tuple[str, Mapping[str, Any]]]
"""An algorithm's own settings: dotted key, also of other names -> the dotted key itself and the field."""


def own_settings(name: str, kind: type[sections.Section] | None) -> Own:
    """Those of the algorithm `name`; `kind` are its settings, None if it has none."""
    fields = {} if kind is None else sections.fields(kind)
    names = {} if kind is None else {**dict(zip(fields, fields, strict=True)), **kind.ALIASES}
    return {f"{name}.{given}": (f"{name}.{key}", fields[key]) for given, key in names.items()}


def _spelled(name: str, own: Own) -> str:
    """A setting's own key by any of its names."""
    key = setting.spelled(name, settings.ALIASES)
    return own[key][0] if key in own else key


def read(given: Mapping[str, Any], own: Own) -> Space:
    """The space of `given` settings under their own keys. Raises ConfigError for an unknown setting, a wrong value or
    another form.
    """
    if not given:
        raise ConfigError(f"a sweep needs at least one setting to vary: its name and {FORM}")
    space: Space = {}
    for name, wanted in given.items():
        key = _spelled(name, own)
        if isinstance(wanted, list):
            wanted = [settings.meant(name, value) for value in wanted]
        if key in space:
            raise ConfigError(f"{key} is given twice, the second time as {name!r}: remove one")
        if key == "seed":
            raise ConfigError("seed cannot be varied as a setting: say how many seeds each setting gets with seeds=")
        space[key] = _range(key, wanted, own) if isinstance(wanted, tuple) else _choices(key, wanted, own)
    return space


def fixed(hyper: Mapping[str, Any], own: Own) -> dict[str, Any]:
    """Settings that every run has, under their own keys, as JSON keeps them. Raises ConfigError."""
    named: dict[str, Any] = {}
    for name, value in hyper.items():
        if (key := _spelled(name, own)) in named:
            raise ConfigError(f"{key} is given twice, the second time as {name!r}: remove one")
        if key in own:
            named[key] = setting.parse_value(key, value, own[key][1])
    shared = settings.canonical({name: value for name, value in hyper.items() if _spelled(name, own) not in own}, None)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in {**shared, **named}.items()}


def as_begun(hyper: dict[str, Any], there: Any, spec: GameSpec) -> dict[str, Any]:
    """Fixed settings as the sweep wrote them that is continued: up to release 0.2.0 `num_minibatches` was kept as the
    `minibatch_size` that it made of the drill's rollout.
    """
    if settings.DIVISOR not in hyper:
        return hyper
    keys = ("num_envs", "rollout_length", settings.DIVISOR)
    size = settings.canonical({key: hyper[key] for key in keys if key in hyper}, settings.of_drill(spec))
    kept = {key: value for key, value in hyper.items() if key != settings.DIVISOR}
    earlier = {**kept, "minibatch_size": size["minibatch_size"]}
    return earlier if there == earlier else hyper


def parse(text: str) -> tuple[str, Any]:
    """`learning_rate=1e-4..1e-2:log`, `gamma=0.98,0.995` or `hidden_sizes=32|64,64` as `read` takes it. Raises
    ConfigError.
    """
    name, equals, wanted = text.partition("=")
    if not equals or not name.strip() or not wanted.strip():
        raise ConfigError(f"wanted NAME=LOW..HIGH, NAME=LOW..HIGH:log or NAME=VALUE,VALUE, got {text!r}")
    low, dots, rest = wanted.partition("..")
    if not dots:
        return name.strip(), wanted.split("|" if "|" in wanted else ",")
    high, colon, how = rest.partition(":")
    return name.strip(), (low, high, how) if colon else (low, high)


def distributions(space: Space) -> dict[str, Any]:
    """The space as Optuna has it. Choices are written as JSON, since Optuna keeps only plain values."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    made: dict[str, Any] = {}
    for key, one in space.items():
        if isinstance(one, Choices):
            made[key] = CategoricalDistribution([json.dumps(value) for value in one.to_json()])
        elif one.step:
            made[key] = IntDistribution(int(one.low), int(one.high), log=one.log, step=one.step)
        else:
            made[key] = FloatDistribution(one.low, one.high, log=one.log)
    return made


def to_optuna(space: Space, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the settings as the distributions have them."""
    return {key: json.dumps(values[key]) if isinstance(one, Choices) else values[key] for key, one in space.items()}


def from_optuna(space: Space, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of the settings as a trainer takes them and JSON keeps them."""
    return {key: json.loads(values[key]) if isinstance(one, Choices) else values[key] for key, one in space.items()}


def size(space: Space) -> float:
    """How many combinations there are; a range has no end of them."""
    return math.prod(math.inf if isinstance(one, Range) else len(one.values) for one in space.values())


def combinations(space: Space) -> list[dict[str, Any]]:
    """Every combination of choices, the last setting changing fastest, as a trainer takes them and JSON keeps them."""
    every = itertools.product(*(one.to_json() for one in space.values() if isinstance(one, Choices)))
    return [dict(zip(space, values, strict=True)) for values in every]


def _field(key: str, own: Own) -> Mapping[str, Any]:
    if key in own:
        return own[key][1]
    if key == settings.DIVISOR:
        return settings.MINIBATCHES
    if key not in settings.FIELDS:
        hint = setting.nearest(key, [*settings.FIELDS, *own]) or "; docs/reference/settings.md has all of them"
        raise ConfigError(f"unknown setting {key!r}{hint}")
    return settings.FIELDS[key]


def _choices(key: str, wanted: Any, own: Own) -> Choices:
    if not isinstance(wanted, list) or not wanted:
        raise ConfigError(f"{key} must be {FORM}, got {wanted!r:.60}")
    field = _field(key, own)
    values = tuple(setting.parse_value(key, value, field) for value in wanted)
    if len({json.dumps(value) for value in Choices(values).to_json()}) < len(values):
        raise ConfigError(f"{key} has the same choice twice: {wanted!r:.60}")
    return Choices(values)


def _range(key: str, wanted: tuple[Any, ...], own: Own) -> Range:
    field = _field(key, own)
    if field["kind"] not in ("int", "float"):
        raise ConfigError(f"{key} is not a number, so it has no range: give its choices as a list, got {wanted!r:.60}")
    if len(wanted) not in (2, 3) or (len(wanted) == 3 and wanted[2] != "log"):
        raise ConfigError(f"{key} must be {FORM}, got {wanted!r:.60}")
    low, high = (setting.parse_value(key, value, field) for value in wanted[:2])
    log, step = len(wanted) == 3, field["multiple"] if field["kind"] == "int" else 0
    if not low < high:
        raise ConfigError(f"{key}: the range must go from the smaller number to the larger, got {low:g} to {high:g}")
    if log and low <= 0:
        raise ConfigError(f"{key}: a range in the logarithm begins above 0, got {low:g}")
    if log and step > 1:
        raise ConfigError(f"{key} goes in steps of {step}, so its range cannot be logarithmic: give choices as a list")
    return Range(low, high, log, step)
