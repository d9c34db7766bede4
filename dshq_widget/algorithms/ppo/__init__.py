"""Proximal policy optimisation: runs on drills and on Gymnasium environments, and the sources of their samples. Losses
and learners are in learners/.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dshq_widget.algorithms.algorithm import Algorithm, Message, Processes
from dshq_widget.algorithms.ppo.cluster import RAY
from dshq_widget.algorithms.ppo.metrics import METRICS
from dshq_widget.contract.game_spec import Game

if TYPE_CHECKING:
    from dshq_widget.contract.settings import TrainConfig
    from dshq_widget.runtime.memory import SharedBlock
    from dshq_widget.runtime.supervisor import Exit


def start(
    drill: Game,
    config: TrainConfig,
    weights: SharedBlock,
    job: Mapping[str, Any],
    on_message: Callable[[Any, Message], None],
    on_exit: Callable[[Any, Exit], None],
) -> Processes:
    """See `algorithm.Start`."""
    from dshq_widget.algorithms.ppo.processes import start_processes  # numba comes with it

    return start_processes(drill, config, weights, job, on_message, on_exit)


def prepare(drill: Game, config: TrainConfig) -> None:
    """See `Algorithm.prepare`."""
    from dshq_widget.algorithms.ppo.processes import prepare_processes

    prepare_processes(drill, config)


ALGORITHM = Algorithm(
    "ppo",
    start,
    prepare=prepare,
    metrics=METRICS,
    engines={
        "ray": RAY,
    },
)
