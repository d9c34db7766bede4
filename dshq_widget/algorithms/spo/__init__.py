"""SPO: search decides every move, and the policy learns to move as the search did (docs/search.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dshq_widget.algorithms.algorithm import Algorithm, Message, OneProcess, Processes
from dshq_widget.algorithms.spo.settings import SpoSettings

if TYPE_CHECKING:
    from dshq_widget.contract.settings import TrainConfig
    from dshq_widget.runtime.memory import SharedBlock
    from dshq_widget.runtime.supervisor import Exit


def start(
    drill: Any,
    config: TrainConfig,
    weights: SharedBlock,
    job: Mapping[str, Any],
    on_message: Callable[[Any, Message], None],
    on_exit: Callable[[Any, Exit], None],
) -> Processes:
    """See `algorithm.Start`."""
    from dshq_widget.runtime import budget

    cores = int(budget.cpu_budget()) - bool(job.get("gentle"))  # one is left for the page
    threads = 1 if config.deterministic else max(1, min(cores, budget.MOST_THREADS))
    role = "dshq_widget.algorithms.spo.run:run"
    return OneProcess(role, drill.to_json(), config, weights, job, on_message, on_exit, threads)


def summary(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Real decisions are `agent_steps`; those that were only simulated are counted apart."""
    return {"simulated_steps": metrics.get("simulated_steps", 0)}


ALGORITHM = Algorithm(
    "spo",
    start,
    settings=SpoSettings,
    defaults={"num_envs": 64, "rollout_length": 32, "value_coef": 1.0},
    fixed={"normalize_observations": False, "normalize_rewards": False},
    summary=summary,
    refuses={
        "gym": "spo copies states to search in them, and an environment cannot be copied: choose a drill, or ppo",
        "recurrent": "spo has no networks with memory: leave out --recurrent",
        "cuda": "spo searches on the CPU: leave out --device cuda",
        "page": "spo does not train in the page: leave out --engine page",
        "ray": "spo does not run on Ray: leave out --engine ray",
        "league": "spo has no league: leave out the opponent pool",
    },
)
