"""Lesson 07: whether a drill has a rock in it that costs something."""

from __future__ import annotations

from typing import Any

import numpy as np

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drill.declaration import Drill

INSIDE, OUTSIDE = 0.3, 0.45
"""Distances from the middle at which the rock of the exercise, `ROCK = 0.35`, hits and does not."""
CIRCLE = 0
"""Kind of that shape in a scene."""
DONE = (
    "The rock costs what you said, on every back end alike. What it is worth to keep off it, and the way round, is "
    "for the network to find out."
)


def missing(drill: Any) -> list[str]:
    """What the class still lacks. The rule is tried with 16 ships around the middle at each distance."""
    if not (isinstance(drill, type) and issubclass(drill, Drill)):
        return [f"Give the class itself, such as `Rocky`; this is {type(drill).__name__!r}."]
    try:
        compiled = compile_drill(drill)  # type: ignore[arg-type]  # mypy doubts that classes can be hashed
    except (ValueError, TypeError) as error:
        return [f"The rules do not translate yet: {error}"]
    costs = [
        k for k, term in enumerate(compiled.spec["terms"]) if term["kind"] == "reward" and float(term["weight"]) < 0
    ]
    if not costs:
        unpaid = hasattr(drill, "hit") and "hit" not in drill.rewards
        return [
            "There is a rule `hit`, but `rewards` does not name it: give it a weight below zero there."
            if unpaid
            else 'Nothing costs anything yet: `rewards = {"star": 1.0, "hit": -0.1}` and a rule `hit` beside `star`.'
        ]
    game = compiled.game()
    tiles = game.new(2)
    angle = np.linspace(0.0, 2 * np.pi, 16, endpoint=False)
    for tile, radius in enumerate((INSIDE, OUTSIDE)):
        tiles["x"][tile], tiles["y"][tile] = radius * np.cos(angle), radius * np.sin(angle)
    inside, outside = game.terms(tiles)[:, 0, costs].sum(axis=1)
    found = []
    if not (inside > 0).all():
        found.append(
            f"Some ships {INSIDE} from the middle are not hit: the way to it is `length(s.x[i], s.y[i])`, and that is "
            "less than ROCK there."
        )
    if (outside != 0).any():
        found.append(f"Some ships {OUTSIDE} from the middle are hit, and the rock ends before.")
    shapes = game.scene(tiles)
    rocks = (shapes[:, 0] == CIRCLE) & (np.abs(shapes[:, 2:4]).max(axis=1) < 0.01) & (shapes[:, 4] > INSIDE / 2)
    if not rocks.any():
        found.append("Nobody can see the rock: `circle(0.0, 0.0, ROCK, 4)` in `scene`.")
    return found
