"""What the kernels read of a game. `DrillSpec` of dshq_widget has it; anything else that describes a game may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol


class Term(Protocol):
    """One reward term."""

    @property
    def name(self) -> str: ...

    @property
    def weight(self) -> float: ...

    @property
    def kind(self) -> str:
        """ "reward": paid as it is. "potential": the difference is."""


class PlayedSpec(Protocol):
    """What those read who play and learn a game and do not look into its state."""

    @property
    def name(self) -> str: ...

    @property
    def sides(self) -> int: ...

    @property
    def action_repeat(self) -> int:
        """Ticks per decision."""

    @property
    def time_limit(self) -> int:
        """Ticks."""

    @property
    def n_obs(self) -> int: ...

    @property
    def n_actions(self) -> int: ...

    @property
    def masked(self) -> bool:
        """Whether the rules forbid actions at times."""

    @property
    def terms(self) -> Sequence[Term]: ...

    @property
    def baselines(self) -> Sequence[str]: ...


class RulesSpec(PlayedSpec, Protocol):
    """A game whose rules are compiled (docs/reference/rules.md)."""

    @property
    def world(self) -> Sequence[float]:
        """x0, y0, x1, y1 in world units."""

    @property
    def fields(self) -> Sequence[tuple[str, str, int]]:
        """Name, type and length of each state field; 0: a scalar."""

    @property
    def palette(self) -> Sequence[str]: ...

    @property
    def shades(self) -> Mapping[str, int]: ...

    @property
    def pointed(self) -> Sequence[str]:
        """Paints whose boxes have a nose in frames of four shades."""

    @property
    def scene_max(self) -> int:
        """Shapes, at most."""

    def __hash__(self) -> int: ...


class Described:
    """A back end's game, with what it reads of its spec again and again."""

    def describe(self, spec: RulesSpec) -> None:
        """Note what the game is."""
        self.spec = spec
        self.sides = spec.sides
        self.n_obs = spec.n_obs
        self.n_terms = len(spec.terms)
        self.n_actions = spec.n_actions
        self.baselines = tuple(spec.baselines)
        self.masked = spec.masked
