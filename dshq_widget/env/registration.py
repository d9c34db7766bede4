"""The drills in Gymnasium's registry: `gymnasium.make("dshq/Ball-v0")`, and `gymnasium.make_vec` of the same id.

`import dshq_widget` registers them, before or after gymnasium is imported; so does `make("dshq_widget:dshq/Ball-v0")`.
(Gymnasium 1.0 removed the plugins that registered environments without any import.)
"""

from __future__ import annotations

import importlib
from typing import Any

from dshq_widget.drills import drills

NAMESPACE, VERSION = "dshq", 0


def environment_id(drill: str) -> str:
    """The id of a drill of the package: "dshq/Ball-v0" for "ball"."""
    return f"{NAMESPACE}/{drills[drill].__name__}-v{VERSION}"


def register_environments(registration: Any = None) -> None:
    """Register every drill that is not registered yet; `registration` is gymnasium's module of that name."""
    registration = registration or importlib.import_module("gymnasium.envs.registration")
    for name, drill in drills.items():
        if environment_id(name) not in registration.registry:
            registration.register(
                environment_id(name),
                entry_point="dshq_widget.env.gym_envs:DrillEnv",
                vector_entry_point="dshq_widget.env.gym_envs:DrillVectorEnv",
                reward_threshold=drill.target,
                kwargs={"drill": name},
            )
