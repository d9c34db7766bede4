"""Functions that create a drill's environments: one side of one game, many games, or both sides for PettingZoo."""

from __future__ import annotations

from typing import Any

from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drill.declaration import Drill
from dshq_widget.env.gym_envs import DrillEnv, DrillVectorEnv


def make_vec(
    name: str | type[Drill] | CompiledDrill, num_envs: int = 1, *, opponent: str | None = None, **options: Any
) -> DrillVectorEnv:
    """`num_envs` games of a drill; with `opponent="self"` both sides are rows. Episodes are matches by the rules with
    unshaped rewards; `practice=True, shaping=True` is what the package's own learner trains with. Options:
    docs/howto/other-libraries.md.
    """
    return DrillVectorEnv(name, num_envs, opponent=opponent, **options)


def make(name: str | type[Drill] | CompiledDrill, opponent: str | None = None, **options: Any) -> DrillEnv:
    """One side of one game, as `make_vec` has many. Options: docs/howto/other-libraries.md."""
    return DrillEnv(name, opponent, **options)


def make_parallel(name: str | type[Drill] | CompiledDrill, **options: Any) -> Any:
    """Both sides of one game as a PettingZoo ParallelEnv (needs the extra `pettingzoo`)."""
    from dshq_widget.env.pettingzoo import DrillParallelEnv

    return DrillParallelEnv(name, **options)
