"""The drills in Gymnasium's registry: `gymnasium.make("dshq/Ball-v0")`, and `gymnasium.make_vec` of the same id."""

from __future__ import annotations

from gymnasium.envs import registration

from dshq_widget.drills import drills

NAMESPACE, VERSION = "dshq", 0


def environment_id(drill: str) -> str:
    """The id of a drill of the package: "dshq/Ball-v0" for "ball"."""
    return f"{NAMESPACE}/{drills[drill].__name__}-v{VERSION}"


def register_environments() -> None:
    """Let Gymnasium find every drill of the package by its id, such as "dshq/Ball-v0". Calling it again is harmless."""
    for name, drill in drills.items():
        if environment_id(name) not in registration.registry:
            registration.register(
                environment_id(name),
                entry_point="dshq_widget.env.gym_envs:DrillEnv",
                vector_entry_point="dshq_widget.env.gym_envs:DrillVectorEnv",
                reward_threshold=drill.target,
                kwargs={"drill": name},
            )
