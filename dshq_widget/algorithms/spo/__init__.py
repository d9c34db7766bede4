"""SPO: search decides every move, and the policy learns to move as the search did (docs/explain/search.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dshq_widget.algorithms.algorithm import Algorithm, one_process
from dshq_widget.algorithms.spo.metrics import METRICS
from dshq_widget.algorithms.spo.settings import SpoSettings
from dshq_widget.contract import sections
from dshq_widget.contract.curves import Curve
from dshq_widget.contract.game_spec import DrillSpec, GameSpec
from dshq_widget.contract.panel import Panel
from dshq_widget.learning.saved import saved_state
from dshq_widget.runtime.budget import MOST_THREADS

if TYPE_CHECKING:
    from dshq_widget.contract.settings import TrainConfig
    from dshq_widget.policy.checkpoint import Checkpoint


def threads(config: TrainConfig, job: Mapping[str, Any]) -> int:
    """All processors but the one that a page is left."""
    from dshq_widget.runtime import budget

    cores = int(budget.cpu_budget()) - bool(job.get("gentle"))
    return 1 if config.deterministic else max(1, min(cores, budget.MOST_THREADS))


def summary(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """Real decisions are `agent_steps`; those that were only simulated are counted apart."""
    return {"simulated_steps": metrics.get("simulated_steps", 0)}


DUALS = saved_state.numbers(2, 4)


def searches(saved: Checkpoint) -> dict[str, Any]:
    """See `Algorithm.searches`: with the file's settings and its learned temperature. A file without the duals, as a
    champion's, has the temperature found for each decision, at which the learned one aims.
    """
    from dshq_widget.algorithms.spo.duals import softplus

    settings, duals = sections.read(SpoSettings, "spo", saved.algorithm_settings), saved.state.get("train.spo.duals")
    if duals is not None and not DUALS(duals, saved.weights.size):
        raise ValueError(f"its train.spo.duals, {duals.dtype} of shape {duals.shape}, is not what a run saves")
    return settings.search(0.0 if duals is None else softplus(float(duals[0, 0])))


def memory(spec: GameSpec, config: TrainConfig, settings: SpoSettings) -> float:
    """See `Algorithm.memory`: the replay with the observations behind episodes that ran out of time (replay.py), what a
    thread keeps of a tile's particles (dshq_kernels/search), and what the learner reads of its sequences (learner.py).
    """
    assert isinstance(spec, DrillSpec), spec
    obs, words = 4 * spec.n_obs, 4 * -(-spec.n_actions // 32) * spec.masked
    replay = settings.replay_buffer_size * (2 * obs + words + 20 + 12 * settings.num_particles)
    particle = 8 * spec.words + 2 * obs + 8 * sum(config.hidden_sizes)
    lesson = 4 * settings.sample_batch_size * settings.sample_sequence_length * (2 * spec.n_actions + 2)
    return replay + lesson + 16 * settings.num_particles * (12 * config.num_envs / 16 + MOST_THREADS * particle)


ADDED = "when search decides, beside the policy alone. Should rise."
CURVES = (
    Curve(
        "With search",
        f"Mean return {ADDED}",
        {"searched_return": "search", "evaluated_return": "policy"},
        sides=1,
    ),
    Curve(
        "With search",
        f"Win rate against the script {ADDED}",
        {"searched_win_rate": "search", "win_rate_ema": "policy"},
        format="percent",
        sides=2,
    ),
    Curve(
        "Futures that count",
        "Effective share of the particles at the end of a search; 100 % means that all are alike.",
        {"search_ess": "share"},
        format="percent",
        colour=4,
        zero=True,
    ),
)
PANEL = Panel(
    "Search",
    "What the searches of training do, and how much better they decide than the policy alone.",
    {
        "temperature": "Temperature",
        "alpha": "Weight of the trust region",
        "search_entropy": "Entropy of the particles",
        "search_alive": "Particles still in a game",
        "simulated_steps": "Simulated",
        "simulated_steps_per_second": "Speed of simulation",
    },
)

ALGORITHM = Algorithm(
    "spo",
    one_process("dshq_widget.algorithms.spo.run:run", threads),
    settings=SpoSettings,
    defaults={"num_envs": 64, "rollout_length": 32, "value_coef": 1.0},
    fixed={"normalize_observations": False, "normalize_rewards": False},
    reads=(
        *("num_envs", "rollout_length", "total_agent_steps", "learning_rate", "lr_schedule", "gamma", "gae_lambda"),
        *("value_coef", "max_grad_norm", "min_entropy", "hidden_sizes", "activation", "separate_value_net"),
        *("opponents", "snapshot_every", "collapse_guard", "reward_weights", "deterministic"),
    ),
    metrics=METRICS,
    curves=CURVES,
    panel=PANEL,
    summary=summary,
    searches=searches,
    memory=memory,
    tensors={
        "train.spo.target": saved_state.weights(),
        "train.spo.duals": DUALS,
        "train.spo.simulated": saved_state.number(0),
        "train.replay.counts": saved_state.numbers(2, low=0),
    },
    refuses={
        "gym": "spo copies states to search in them, and an environment cannot be copied: choose a drill, or ppo",
        "recurrent": "spo has no networks with memory: leave out --memory",
        "cuda": "spo searches on the CPU: leave out --device cuda",
        "page": "spo does not train in the page: leave out --engine page",
        "joint": "spo searches in one process: leave out --joint",
    },
)
