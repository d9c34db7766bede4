"""A drill in any form that a person gives: a name, a class, compiled, or an environment of Gymnasium."""

from __future__ import annotations

from typing import Any

from dshq_widget import drills
from dshq_widget.drill.compiled import CompiledDrill, compile_drill
from dshq_widget.drill.declaration import Drill
from dshq_widget.gyms.environment import Environment, is_named


def compiled(drill: str | type[Drill] | CompiledDrill | Environment | Any) -> Any:
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
