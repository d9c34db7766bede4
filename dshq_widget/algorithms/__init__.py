"""The algorithms, one folder each with its losses, learners and runs.

`algorithms` is the registry: to add one, write its folder and list its `ALGORITHM` here.
"""

from __future__ import annotations

from difflib import get_close_matches

from dshq_widget.algorithms.algorithm import Algorithm
from dshq_widget.algorithms.gate import ALGORITHM as GATE
from dshq_widget.algorithms.ppo import ALGORITHM as PPO

algorithms: dict[str, Algorithm] = {each.name: each for each in (PPO, GATE)}


def get(name: str) -> Algorithm:
    """The algorithm called `name`. Raises ValueError for an unknown one."""
    if name not in algorithms:
        near = get_close_matches(str(name), algorithms, 1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"there is no algorithm {name!r}. Known algorithms: {', '.join(algorithms)}.{hint}")
    return algorithms[name]
