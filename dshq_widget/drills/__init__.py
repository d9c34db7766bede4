"""All built-in drills, one file each, and this registry of their classes."""

from __future__ import annotations

from difflib import get_close_matches

from dshq_widget.drill.declaration import Drill
from dshq_widget.drills.approach import Approach
from dshq_widget.drills.ball import Ball
from dshq_widget.drills.bandit import Bandit
from dshq_widget.drills.binpack import BinPack
from dshq_widget.drills.cartpole import CartPole
from dshq_widget.drills.chase import Chase
from dshq_widget.drills.lamp import Lamp
from dshq_widget.drills.maze import Maze
from dshq_widget.drills.paddleball import PaddleBall
from dshq_widget.drills.snake import Snake
from dshq_widget.drills.sumo import Sumo
from dshq_widget.drills.territory import Territory

drills: dict[str, type[Drill]] = {
    drill.name: drill
    for drill in (Ball, Sumo, Chase, Approach, PaddleBall, CartPole, Maze, Snake, BinPack, Territory, Bandit, Lamp)
}


def get(name: str) -> type[Drill]:
    """The drill called `name`. Raises ValueError for an unknown one, with the nearest name."""
    if name.endswith(".py"):
        raise ValueError(f"expected a drill's name or class, got the file {name!r}: import the class and pass it")
    if name not in drills:
        near = get_close_matches(name, drills, 1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}?" if near else "choose one of these, or write your own class."
        raise ValueError(f"there is no drill called {name!r}: {hint} Known drills: {', '.join(sorted(drills))}.")
    return drills[name]
