"""Description of a Gymnasium environment for the trainer. Does not import gymnasium.

A name is `gym:` and an id as `gymnasium.make` takes it: `gym:CartPole-v1`, `gym:ALE/Pong-v5`, or
`gym:my_module:Mine-v0`, which imports `my_module` first, in every process.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from dshq_widget.policy.action_spaces import Actions

PREFIX = "gym:"


@dataclasses.dataclass(frozen=True)
class Environment:
    """Takes the place of a `CompiledDrill`: `spec` has the same keys, empty if they need rules, and also `environment`
    (id, actions, wrappers), `pixels` (that a policy reads), `atari` and `pictures` (true: the kernel plays the
    show and the page draws its frames).
    """

    spec: dict[str, Any]
    python: str = ""
    javascript: str = ""

    @property
    def name(self) -> str:
        return self.spec["name"]

    @property
    def rules_hash(self) -> str:
        return self.spec["rules_hash"]

    @property
    def actions(self) -> Actions:
        return Actions.from_json(self.spec["environment"]["actions"])


def is_named(drill: str) -> bool:
    """Whether `drill` is the name of an environment."""
    return drill.startswith(PREFIX)
