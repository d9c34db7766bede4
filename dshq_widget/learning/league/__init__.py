"""The self-play league: earlier policies as opponents, their ratings, the champion, and the way back to it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from dshq_widget.learning.opponents.competition import Competition

if TYPE_CHECKING:
    from dshq_widget.contract.game_spec import Game
    from dshq_widget.contract.settings import TrainConfig
    from dshq_widget.drill.compiled import CompiledDrill
    from dshq_widget.learning.opponents.competition import Contest
    from dshq_widget.policy.checkpoint import Checkpoint
    from dshq_widget.policy.network import PolicySpec

# What each function does is in competition.py. numba comes with the modules that they import.


def contest(drill: CompiledDrill, spec: PolicySpec, config: TrainConfig) -> Contest:
    from dshq_widget.learning.league.league import League
    from dshq_widget.learning.league.rounds import Rounds

    return Rounds(League(drill, spec, config.seed), config)


def policy(drill: CompiledDrill, saved: Checkpoint, version: int | None) -> Checkpoint:
    from dshq_widget.learning.league.league import policy_of

    return policy_of(drill, saved, version)


def keep_best(path: str | os.PathLike[str], drill: Game) -> dict[str, Any] | None:
    from dshq_widget.learning.league import champion

    return champion.keep_best(path, drill)


LEAGUE = Competition(contest, policy, keep_best)
