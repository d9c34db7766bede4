"""Which of the shared settings (contract/settings.py) a run of each algorithm reads, and when a change takes effect.

The page shows these beside the algorithm's own; docs/algorithms.md lists them. An algorithm that is not in `USES`
reads all.
"""

from __future__ import annotations

from typing import Any

from dshq_widget.contract import settings

EVERY = ("seed", "pace", "evaluate_seconds", "autosave_seconds")
"""What the loop and the evaluator of every run read."""
USES: dict[str, tuple[str, ...]] = {
    "spo": (
        *EVERY,
        *("num_envs", "rollout_length", "total_agent_steps", "learning_rate", "lr_schedule", "gamma", "gae_lambda"),
        *("value_coef", "max_grad_norm", "min_entropy", "hidden_sizes", "activation", "separate_value_net"),
        *("opponents", "snapshot_every", "collapse_guard", "reward_weights", "deterministic"),
    ),
    "gate": (*EVERY, "reward_weights"),
    "dreamer": (*EVERY, "reward_weights", "deterministic"),
}
"""Algorithm -> its shared settings."""
AT_START = {("gate", "reward_weights"), ("dreamer", "reward_weights")}
"""(algorithm, setting): read once, where other algorithms take a change while they train."""


def keys(algorithm: str) -> list[str]:
    """The shared settings that `algorithm` reads, in the order of settings.py."""
    used = USES.get(algorithm, tuple(settings.FIELDS))
    return [key for key in settings.FIELDS if key in used]


def effect(algorithm: str, key: str) -> str:
    """When a change of the shared setting `key` takes effect in a run of `algorithm`."""
    return settings.RESTART if (algorithm, key) in AT_START else str(settings.FIELDS[key]["effect"])


def schema(algorithm: str) -> dict[str, dict[str, Any]]:
    """`settings.schema` of the shared settings that `algorithm` reads."""
    whole = settings.schema()
    return {key: {**whole[key], "effect": effect(algorithm, key)} for key in keys(algorithm)}
