"""Description of a Gymnasium environment for the trainer. Does not import gymnasium.

A name is `gym:` and an id as `gymnasium.make` takes it: `gym:CartPole-v1`, `gym:ALE/Pong-v5`, or
`gym:my_module:Mine-v0`, which imports `my_module` first, in every process. Wrappers may follow (named.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from dshq_widget.contract.game_spec import GameSpec, to_plain
from dshq_widget.policy.action_spaces import Actions
from dshq_widget.policy.layout import pictures_of

PREFIX = "gym:"

WITHOUT_RULES: Mapping[str, Any] = {
    **dict.fromkeys(("fields", "actions", "observations", "drag", "palette", "tags", "half_turn"), ()),
    **dict.fromkeys(("keys", "shades", "legend"), MappingProxyType({})),
    **dict.fromkeys(("cells", "observation_range", "optimum")),
    "mirrored": False,
    "drawn": False,
    "scene_max": 0,
    "about": "",
    "hint": "",
}
"""What the page reads of a drill and an environment has nothing of."""


@dataclass(frozen=True)
class Made:
    """How an environment is made, and what a policy reads and does there; a policy file has it too."""

    id: str
    """As `gymnasium.make` takes it."""
    actions: Actions
    pixels: tuple[int, ...]
    """Shape of the one picture that is observed; none: numbers, or `pictures`."""
    wrappers: tuple[str, ...]
    """Their names, the outermost first."""
    left_out: tuple[str, ...] = ()
    """Parts of the observations that are not read, as texts."""
    pictures: tuple[tuple[int, ...], ...] = ()
    """Shapes of the pictures that are observed in one row, with numbers behind them (policy/layout.py)."""

    def to_json(self) -> dict[str, Any]:
        """As files and processes have it."""
        return {**to_plain(self), "actions": self.actions.to_json()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Made:
        """What `to_json` wrote."""
        actions = Actions.from_json(values["actions"])
        pixels, wrappers, left_out = (tuple(values.get(key, ())) for key in ("pixels", "wrappers", "left_out"))
        pictures = tuple(map(tuple, values.get("pictures", ())))
        return cls(values["id"], actions, pixels, wrappers, left_out, pictures)

    @property
    def said(self) -> str:
        """What a person has to know about what is read, as a sentence; "" if it is everything."""
        names = ", ".join(map(repr, self.left_out))
        return f"the network does not read {names} of {PREFIX}{self.id}'s observations" if names else ""


@dataclass(frozen=True, kw_only=True, slots=True)
class EnvironmentSpec(GameSpec):
    """An environment of Gymnasium: it has no rules, so the kernel plays the show and the page draws its frames."""

    environment: Made
    atari: bool
    pictures: Literal[True] = True

    @property
    def pictures_read(self) -> tuple[tuple[int, ...], ...]:
        """Shape of each picture that a policy reads, channels first; none: it reads numbers alone."""
        return pictures_of(vars(self.environment))

    @property
    def environment_json(self) -> dict[str, Any]:
        """What a file says of it."""
        return self.environment.to_json()

    def to_json(self) -> dict[str, Any]:
        """As the page and other processes have it."""
        return {**to_plain(WITHOUT_RULES), **to_plain(self), "environment": self.environment.to_json()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> EnvironmentSpec:
        """What `to_json` wrote."""
        own: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
        own = {key: value for key, value in own.items() if key not in WITHOUT_RULES}
        return cls(**{**own, "environment": Made.from_json(values["environment"])})

    __hash__ = GameSpec.__hash__


@dataclass(frozen=True)
class Environment:
    """An environment in the place of a `CompiledDrill`."""

    spec: EnvironmentSpec

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def rules_hash(self) -> str:
        return self.spec.rules_hash

    @property
    def actions(self) -> Actions:
        return self.spec.environment.actions

    def to_json(self) -> dict[str, Any]:
        """What travels to other processes."""
        return self.spec.to_json()

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Environment:
        """What `to_json` wrote."""
        return cls(EnvironmentSpec.from_json(values))


def is_named(drill: str) -> bool:
    """Whether `drill` is the name of an environment."""
    return drill.startswith(PREFIX)
