"""Whether a drill has a rock in it that costs something."""

from __future__ import annotations

from typing import Any

import numpy as np

from dshq_widget.drill.compiled import compile_drill
from dshq_widget.drill.declaration import Drill

ROCK = 0.35
INSIDE, OUTSIDE = (0.98 * ROCK, 0.0, 0.5 * ROCK), (1.02 * ROCK, 2.0 * ROCK)
"""Distances from the middle at which the rock of the exercise hits and does not."""
SLACK = 0.02
"""By which the rock in the picture may be smaller or larger than the one that hits."""
CIRCLE = 0
"""Kind of that shape in a scene."""
DONE = (
    "The rock costs what you said, on every back end alike. What it is worth to keep off it, and the way round, is "
    "for the network to find out."
)


def missing(drill: object) -> list[str]:
    """What the class still lacks. The rule is tried with 16 ships around the middle at each distance."""
    if not (isinstance(drill, type) and issubclass(drill, Drill)):
        return [f"Give the class itself, such as `Rocky`; this is {type(drill).__name__!r}."]
    try:
        compiled = compile_drill(drill)  # type: ignore[arg-type]  # mypy doubts that classes can be hashed
    except (ValueError, TypeError) as error:
        return [f"The rules do not translate yet: {error}"]
    paid = {term.name: term.weight for term in compiled.spec.terms if term.kind == "reward"}
    if paid.get("star", 0.0) <= 0:
        return ['A star is worth nothing any more: keep `"star": 1.0` in `rewards` beside the price of a hit.']
    if len(paid) == 1:
        return [
            "There is a rule `hit`, but `rewards` does not name it: give it a weight below zero there."
            if hasattr(drill, "hit")
            else 'Nothing costs anything yet: `rewards = {"star": 1.0, "hit": -0.1}` and a rule `hit` beside `star`.'
        ]
    game = compiled.game()
    distances = (*INSIDE, *OUTSIDE)
    tiles = game.new(len(distances))
    angle = np.linspace(0.0, 2 * np.pi, 16, endpoint=False)
    for tile, radius in enumerate(distances):
        tiles["x"][tile], tiles["y"][tile] = radius * np.cos(angle), radius * np.sin(angle)
    tiles["star_x"], tiles["star_y"] = 1.0, 0.8
    names = [term.name for term in compiled.spec.terms]
    weights = np.array([paid.get(name, 0.0) * (name != "star") for name in names])
    charged = np.einsum("tkl,k->tl", game.terms(tiles)[:, 0], weights)
    inside, outside = charged[: len(INSIDE)], charged[len(INSIDE) :]
    found = []
    if (inside > 0).any():
        found.append("To be hit brings something. Its weight in `rewards` has to be below zero.")
    elif not (inside < 0).all():
        missed = next(at for at, row in zip(INSIDE, inside, strict=True) if not (row < 0).all())
        found.append(
            f"Some ships {missed:.3f} from the middle are not charged: the way to it is `length(s.x[i], s.y[i])`, and "
            f"that is less than ROCK = {ROCK} there."
        )
    if (outside != 0).any():
        hit = next(at for at, row in zip(OUTSIDE, outside, strict=True) if (row != 0).any())
        found.append(f"Some ships {hit:.3f} from the middle are hit, and the rock ends at {ROCK}.")
    tiles["caught"] = 2.0
    if not (game.terms(tiles)[:, 0, names.index("star")] == 2.0).all():
        found.append("`star` no longer pays for every star: leave it as it is in `Comet`.")
    shapes = game.scene(tiles)
    if not _circles(shapes, 0.0, 0.0, ROCK, SLACK).any():
        found.append("Nobody can see the rock as it is: `circle(0.0, 0.0, ROCK, 4)` in `scene`.")
    if not _circles(shapes, 1.0, 0.8).any() or not _circles(shapes, float(tiles["x"][0, 0]), 0.0).any():
        found.append("The picture has lost the star or the ship: keep what `scene` draws, and add the rock.")
    return found


def _circles(shapes: Any, x: float, y: float, radius: float = 0.0, slack: float = np.inf) -> Any:
    """Which shapes of a scene are circles around a place, of about that radius."""
    near = np.abs(shapes[:, 2:4] - (x, y)).max(axis=1) < 0.01
    return (shapes[:, 0] == CIRCLE) & near & (np.abs(shapes[:, 4] - radius) < slack)
