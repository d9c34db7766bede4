"""What a game is, as data: `GameSpec`, which every game has, and `DrillSpec`, of games with rules.

`compile_drill` makes a drill's, `gyms.making.described` an environment's; nobody changes one. `python -m
tools.tables` writes the page's types, `js/contract/game.ts`, from these classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

DEFAULT_ALGORITHM = "ppo"
"""What trains a game that declares nothing, and what trained a policy whose file does not say."""
FieldType = Literal["f32", "i32", "u32", "bool"]


class Field(NamedTuple):
    """One field of a drill's state. `length` 0: a scalar."""

    name: str
    type: FieldType
    length: int

    @property
    def words(self) -> int:
        """Words of 4 bytes."""
        return max(self.length, 1)


@dataclass(frozen=True)
class Choice:
    """One factor of an action: named options to choose from. The first option applies when no key is pressed."""

    name: str
    options: tuple[str, ...]


@dataclass(frozen=True)
class Observation:
    """One input of the policy. `scale` is the world value that reads 1.0, in `unit`: it labels the page's gauges, and
    `observe` divides by it. `help`: what it means, where the name does not say all.
    """

    name: str
    scale: float = 1.0
    unit: str = ""
    help: str = ""


@dataclass(frozen=True)
class Handle:
    """Something that can be dragged: the state fields of its position and velocity; `index` selects an element of array
    fields. `kind` says how it is drawn: "player", that of side `index`, or "ball", which nobody plays.
    """

    name: str
    x: str
    y: str
    vx: str
    vy: str
    index: int = 0
    kind: Literal["player", "ball"] = "player"


@dataclass(frozen=True)
class Cells:
    """Cells of the world that a person may click: `choice` then takes the option whose number is the cell's. Cells are
    numbered row by row from the lower left one, whose corner is at x0, y0; `size` is a cell's edge, in world units.
    """

    columns: int
    rows: int
    x0: float
    y0: float
    size: float
    choice: str


@dataclass(frozen=True)
class Term:
    """A reward term: a `reward` is paid once per decision, of a `potential` the difference. `help`: what for."""

    name: str
    weight: float
    kind: Literal["reward", "potential"]
    help: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class GameSpec:
    """What every game says of itself: to those who train on it and to the page that shows it."""

    name: str
    """An identifier; policy files find the game by it."""
    title: str
    """What people read."""
    sides: int
    tick_rate: float
    """Ticks per second."""
    action_repeat: int
    """Ticks per decision."""
    time_limit: int
    """Ticks after which an episode ends; 0: never."""
    world: tuple[float, float, float, float]
    """x0, y0, x1, y1 of what is drawn, in world units; y points up."""
    n_obs: int
    n_actions: int
    """Outputs of a policy, besides the value."""
    rules_hash: str
    """Changes when the rules, the observations or the actions change."""
    terms: tuple[Term, ...] = ()
    baselines: tuple[str, ...] = ()
    """Scripts to play against."""
    masked: bool = False
    """Some actions are forbidden at times."""
    target: float | None = None
    """Mean return of a game of one side that counts as solved."""
    show_speed: float = 1.0
    """The speed at which the page begins to show it."""
    front: tuple[int, ...] = ()
    """The layer in front of the network's dense ones, as `layers` has it."""
    algorithm: str = DEFAULT_ALGORITHM
    """What trains it unless somebody chooses another."""
    algorithm_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Algorithm -> settings of its own that suit this game better than its defaults."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Shared settings that suit this game better than the defaults."""

    def to_json(self) -> dict[str, Any]:
        """As the page, other processes and exported pages have it."""
        said: dict[str, Any] = to_plain(self)
        return said

    @property
    def pictures_read(self) -> tuple[tuple[int, ...], ...]:
        """Shape of each picture that a policy reads, channels first; none: it reads numbers alone."""
        return ()

    @property
    def environment_json(self) -> dict[str, Any]:
        """What a file says of somebody else's environment; nothing of a drill."""
        return {}

    def __hash__(self) -> int:
        return hash((self.name, self.rules_hash))


@dataclass(frozen=True, kw_only=True, slots=True)
class DrillSpec(GameSpec):
    """A drill without its author's class or source."""

    fields: tuple[Field, ...]
    """The state, in the order of its record."""
    actions: tuple[Choice, ...]
    keys: Mapping[str, tuple[str, str]]
    """KeyboardEvent.code -> choice and option."""
    observations: tuple[Observation, ...]
    drag: tuple[Handle, ...]
    palette: tuple[str, ...]
    """Names of paints; shapes have their indices."""
    scene_max: int
    """Shapes."""
    mirrored: bool
    """Side 1 sees the world turned by half a turn."""
    about: str = ""
    """What the game is and how it is won."""
    half_turn: tuple[str, ...] = ()
    """Fields that change sign in the half turn."""
    observation_range: tuple[float, float] | None = None
    cells: Cells | None = None
    """That a person may click."""
    shades: Mapping[str, int] = field(default_factory=dict)
    """Paint -> its shade in frames of four."""
    pointed: tuple[str, ...] = ()
    """Paints whose boxes have a nose in frames of four."""
    legend: Mapping[str, str] = field(default_factory=dict)
    """Paint -> what it shows."""
    hint: str = ""
    """What to look at, for who sees the game for the first time."""
    tags: tuple[str, ...] = ()
    drawn: bool = True
    """There is a rule `scene`."""
    optimum: float | str | None = None
    """What perfect play reaches, or the baseline that plays perfectly."""

    @property
    def words(self) -> int:
        """Words of 4 bytes of one game's state."""
        return sum(field.words for field in self.fields)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> DrillSpec:
        """What `to_json` wrote."""
        span, cells = values.get("observation_range"), values.get("cells")
        typed: dict[str, Any] = {
            "fields": tuple(Field(*row) for row in values["fields"]),
            "actions": tuple(Choice(row["name"], tuple(row["options"])) for row in values["actions"]),
            "keys": {code: tuple(pair) for code, pair in values["keys"].items()},
            "observations": tuple(Observation(**row) for row in values["observations"]),
            "terms": tuple(Term(**row) for row in values["terms"]),
            "drag": tuple(Handle(**row) for row in values["drag"]),
            "cells": None if cells is None else Cells(**cells),
            "observation_range": None if span is None else tuple(span),
        }
        lists = {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
        return cls(**{**values, **lists, **typed})

    __hash__ = GameSpec.__hash__


class Game(Protocol):
    """A game that can be trained on: a `CompiledDrill` or an `Environment`."""

    @property
    def spec(self) -> GameSpec: ...
    @property
    def name(self) -> str: ...
    @property
    def rules_hash(self) -> str: ...

    def to_json(self) -> dict[str, Any]:
        """What travels to other processes."""


def to_plain(value: Any) -> Any:
    """A typed value as JSON has it: dataclasses are objects, tuples lists."""
    if dataclasses.is_dataclass(value):
        return {each.name: to_plain(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    return value
