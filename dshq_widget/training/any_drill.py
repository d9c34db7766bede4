"""A drill in any form that a person gives: a name, a class, compiled, or an environment of Gymnasium."""

from __future__ import annotations

from dshq_widget import drills
from dshq_widget.contract.game_spec import Game
from dshq_widget.drill.compiled import CompiledDrill, compile_drill
from dshq_widget.drill.declaration import Drill
from dshq_widget.gyms.environment import Environment, is_named


def compiled(drill: object) -> CompiledDrill | Environment:
    """Compile a drill given in any form, or describe a Gymnasium environment; raises the error of whichever failed."""
    if isinstance(drill, (CompiledDrill, Environment)):
        return drill
    if isinstance(drill, str) and is_named(drill):
        from dshq_widget.gyms.making import described  # imports gymnasium

        return described(drill)
    if isinstance(drill, str):
        drill = drills.get(drill)
    if not (isinstance(drill, type) and issubclass(drill, Drill)):
        raise TypeError(f"a drill must be a name, a Drill subclass or a .dshq path, got {drill!r:.60}")
    return compile_drill(drill)  # type: ignore[arg-type]  # mypy doubts that classes can be hashed


def with_rules(game: Game) -> CompiledDrill:
    """The game itself, where it is a drill; raises ValueError for an environment."""
    if not isinstance(game, CompiledDrill):
        raise ValueError(f"{game.name} is an environment of Gymnasium and has no rules: choose a drill")
    return game
