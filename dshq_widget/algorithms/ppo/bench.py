"""What `dshq bench` measures of PPO on the processor."""

from __future__ import annotations

from dshq_widget.algorithms.measured import Measured
from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.contract.settings import TrainConfig, of_drill
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.games import OwnGames
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime import budget
from dshq_widget.runtime.rates import rate


def bench(drill: CompiledDrill, seconds: float) -> Measured:
    """Update samples per second of one core, and agent steps per second of play and update in turn on all usable
    threads; of a network without a memory.
    """
    config = of_drill(drill.spec).replace({"memory": 0})
    network = PolicySpec.for_config(drill.spec, config)
    threads = min(budget.usable_processors(budget.cpu_budget()), budget.MOST_THREADS)
    return Measured(
        {
            "update_samples_per_second": turns(drill, config, network, 1, seconds, playing=False),
            "agent_steps_per_second": turns(drill, config, network, threads, seconds, playing=True),
        }
    )


def turns(
    drill: CompiledDrill, config: TrainConfig, network: PolicySpec, threads: int, seconds: float, playing: bool
) -> float:
    """Agent steps per second of updates at the default settings, each after a rollout where `playing`."""
    learner = FusedPPO(network, threads=threads)
    games = OwnGames(drill, config, threads)

    def turn() -> None:
        if playing:
            games.next(learner, config, 0)
        learner.update(games.samples, games.units, Hyper())

    games.next(learner, config, 0)
    return rate(turn, len(games.units) * 16, seconds)
