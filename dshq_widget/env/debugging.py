"""One game for whoever writes its rules: Python runs them as they are written, so that `print` and `breakpoint` in them
work, errors name their lines, and what compiled rules pass over in silence is reported.

Nothing is compiled. The bits are those of the compiled game.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.backends.reference_game import Loaded, ReferenceGame, Verbs
from dshq_kernels.backends.watching import Noticed, Watch
from dshq_widget.contract.finite import finite, plain
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.env.batch import compiled

SECONDS = 10.0
"""Of the game, that `dshq check --debug` plays."""
MOST_TICKS = 30_000
"""That it plays: Python runs a few thousand a second."""

Action = int | Mapping[str, str] | None
"""An action's number, an option of each choice (the first one where it is left out), or None: a random one."""


@dataclass(frozen=True)
class Step:
    """What one decision did."""

    actions: tuple[int, ...]
    """Of each side."""
    terms: tuple[dict[str, float], ...]
    """Of each side: every reward term's value, and each potential's change, without their weights."""
    terminated: bool
    truncated: bool
    winner: int

    @property
    def over(self) -> bool:
        return self.terminated or self.truncated


def debug(
    drill: str | type[Drill] | CompiledDrill,
    seed: int = 0,
    *,
    decisions: int = 0,
    actions: Iterable[Action | Sequence[Action]] | None = None,
    practice: bool = False,
) -> DebugGame:
    """Begin a game of a drill whose rules Python runs as they are written, and play `actions`, then `decisions` at
    random.

    `practice`: begin as training's own games do. Raises ValueError for an unknown drill or action.
    """
    game = DebugGame(compiled(drill), seed, practice)
    for action in actions or ():
        game.step(action)
    game.play(decisions)
    return game


def play_a_little(drill: str | type[Drill] | CompiledDrill) -> DebugGame:
    """Some seconds of a game at random, as long as an episode or longer, at most `MOST_TICKS`."""
    spec = compiled(drill).spec
    ticks = max(SECONDS * spec.tick_rate, min(spec.time_limit, 5 * SECONDS * spec.tick_rate))
    return debug(drill, decisions=-(-int(min(ticks, MOST_TICKS)) // spec.action_repeat), practice=True)


class DebugGame:
    """One game. `state` and `observe` are read as rules know them, `warnings` are what was noticed so far."""

    def __init__(self, drill: CompiledDrill, seed: int = 0, practice: bool = False):
        self.drill, self.spec = drill, drill.spec
        self._watch = Watch()
        rules = Loaded(drill.reference, self._watch.words)
        self._watch.watch(rules)
        verbs = Verbs(rules, drill.spec, lanes=(0,), floats=self._watch.floats)
        self.game = ReferenceGame(drill.reference, drill.spec, verbs)
        self._names = [term.name for term in self.spec.terms]
        self._potential = np.array([term.kind == "potential" for term in self.spec.terms], bool)
        self.decisions, self.episodes = 0, 0
        self.reset(seed, practice)

    def reset(self, seed: int | None = None, practice: bool | None = None) -> None:
        """A new episode: with a seed of its own, or continuing the generator."""
        if seed is not None:
            self.tile = self.game.new(1, seed, bool(practice))
        else:
            if practice is not None:
                self.tile["practice"] = int(practice)
            self.game.reset(self.tile, np.eye(1, 16, dtype=np.uint8))
        self.over = False
        self._before = self._terms()

    @property
    def state(self) -> dict[str, Any]:
        """Every field: a number, or the numbers of an array field."""
        found = {}
        for name, kind, length in self.spec.fields:
            values = self.tile[name][0][..., 0]
            values = values != 0 if kind == "bool" else values
            found[name] = values.tolist() if length else values.item()
        return found

    @property
    def warnings(self) -> list[Noticed]:
        """What the rules did that compiled rules pass over, each place once."""
        return list(self._watch.found.values())

    def observe(self, side: int = 0) -> dict[str, float]:
        """What a side sees, by the observations' names."""
        seen = self.game.observe(self.tile)[0, side, :, 0]
        return {row.name: float(value) for row, value in zip(self.spec.observations, seen, strict=True)}

    def allowed(self, side: int = 0) -> list[int]:
        """The actions that a side may take."""
        return np.flatnonzero(self.game.mask(self.tile)[0, side, :, 0]).tolist()

    def scene(self) -> NDArray[np.float32]:
        """The shapes that are drawn, f32 `[n, 12]` (docs/architecture.md, Scene)."""
        return self.game.scene(self.tile)

    def step(self, action: Action | Sequence[Action] = None) -> Step:
        """One decision; `action` is side 0's, or a list with one for each side. Sides without one play at random.
        Raises ValueError for an unknown action, RuntimeError when the episode is over.
        """
        if self.over:
            raise RuntimeError("the episode is over: call reset()")
        several = plain(action)
        given = list(several) if isinstance(several, Sequence) and not isinstance(several, str) else [several]
        if len(given) > self.game.sides:
            raise ValueError(f"{self.drill.name} has {self.game.sides} side(s), got {len(given)} actions")
        wanted = [self._number(one) for one in given] + [None] * (self.game.sides - len(given))
        drawn = self.game.actions(self.tile, "random")[0, :, 0].tolist() if None in wanted else wanted
        chosen = [other if one is None else one for one, other in zip(wanted, drawn, strict=True)]
        self.tile["action"][0, :, 0] = chosen
        self.game.decide(self.tile)
        self.game.tick(self.tile, self.spec.action_repeat)
        self.decisions += 1
        ended, winners = self.game.status(self.tile)
        terminated = bool(ended[0, 0])
        truncated = not terminated and int(self.tile["ticks"][0, 0]) >= self.spec.time_limit
        now = self._terms()
        with np.errstate(all="ignore"):
            paid = np.where(self._potential, now - self._before, now)
        self._before = now
        self.over = terminated or truncated
        self.episodes += self.over
        terms = tuple(dict(zip(self._names, row.tolist(), strict=True)) for row in paid)
        return Step(tuple(chosen), terms, terminated, truncated, int(winners[0, 0]))

    def play(self, decisions: int) -> None:
        """Many decisions at random; a new episode begins where one ends."""
        for _ in range(decisions):
            if self.over:
                self.reset()
            self.step()

    def report(self) -> str:
        """What was played and what was noticed, for a person."""
        head = f"{self.drill.name}: {self.decisions} decisions, {self.episodes} episodes ended, nothing compiled"
        return "\n".join((head, *map(str, self.warnings))) if self.warnings else f"{head}; no warnings"

    def __repr__(self) -> str:
        lines = [self.report(), *(f"  {name} = {value}" for name, value in self.state.items())]
        return "\n".join(lines)

    def _terms(self) -> NDArray[Any]:
        """f32 (sides, n_terms)."""
        return self.game.terms(self.tile)[0, :, :, 0]

    def _number(self, action: Action) -> int | None:
        if not isinstance(action, Mapping):
            if action is None:
                return None
            n, found = self.spec.n_actions, finite(action)
            if found is None or found != int(found) or not 0 <= found < n:
                raise ValueError(f"expected an action from 0 to {n - 1}, got {action!r:.60}")
            return int(found)
        number, left = 0, dict(action)
        for choice in self.spec.actions:
            option = left.pop(choice.name, choice.options[0])
            if option not in choice.options:
                raise ValueError(f"{choice.name}: expected one of {', '.join(choice.options)}, got {option!r}")
            number = number * len(choice.options) + choice.options.index(option)
        if left:
            known = ", ".join(choice.name for choice in self.spec.actions)
            raise ValueError(f"{next(iter(left))!r} is none of the choices: {known}")
        return number
