"""SPO: search decides every move, and the policy learns to move as the search did (docs/search.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dshq_widget.algorithms.algorithm import Algorithm, one_process
from dshq_widget.algorithms.spo.settings import SpoSettings

if TYPE_CHECKING:
    from dshq_widget.contract.settings import TrainConfig


def threads(config: TrainConfig, job: Mapping[str, Any]) -> int:
    """All processors but the one that a page is left."""
    from dshq_widget.runtime import budget

    cores = int(budget.cpu_budget()) - bool(job.get("gentle"))
    return 1 if config.deterministic else max(1, min(cores, budget.MOST_THREADS))


def summary(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Real decisions are `agent_steps`; those that were only simulated are counted apart."""
    return {"simulated_steps": metrics.get("simulated_steps", 0)}


ALGORITHM = Algorithm(
    "spo",
    one_process("dshq_widget.algorithms.spo.run:run", threads),
    settings=SpoSettings,
    defaults={"num_envs": 64, "rollout_length": 32, "value_coef": 1.0},
    fixed={"normalize_observations": False, "normalize_rewards": False},
    summary=summary,
    refuses={
        "gym": "spo copies states to search in them, and an environment cannot be copied: choose a drill, or ppo",
        "recurrent": "spo has no networks with memory: leave out --memory",
        "cuda": "spo searches on the CPU: leave out --device cuda",
        "page": "spo does not train in the page: leave out --engine page",
        "ray": "spo does not run on Ray: leave out --engine ray",
        "joint": "spo searches in one process: leave out --joint",
    },
)
