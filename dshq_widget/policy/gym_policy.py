"""A policy for an environment that acts in plain numpy, for the show and evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dshq_kernels.network.layers import memory_of
from dshq_kernels.network.mlp import FORBIDDEN
from dshq_widget.policy.action_spaces import Actions
from dshq_widget.policy.layout import pictures_of
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy
from dshq_widget.policy.recurrent import RecurrentPolicy

USUALLY_MADE = {"action_repeat": 1, "fire_on_reset": False}
"""Settings that say how an environment is made (`gyms.making.make`), with their values for files that lack them."""


def made(settings: Mapping[str, Any]) -> dict[str, Any]:
    """How the environment is made by these settings, as keywords of `gyms.making.make`."""
    return {key: settings.get(key, usual) for key, usual in USUALLY_MADE.items()}


class GymPolicy(Policy):
    """Reads what the environment's wrappers give (making.py), `[..., *shape]` of `spec.layout`: numbers, a picture, or
    a row of both. `environment["made"]` is how that environment was made.
    """

    def __init__(
        self,
        layers: Sequence[int],
        activation: str,
        weights: np.ndarray,
        environment: Mapping[str, Any],
        distribution: str,
        metadata: Mapping[str, Any] | None = None,
    ):
        self.environment = dict(environment)
        self.actions, self.distribution = Actions.from_json(environment["actions"]), distribution
        spec = PolicySpec(tuple(layers), activation, pictures=pictures_of(environment))
        weights = np.asarray(weights, np.float32)
        self._trunk = spec.trunk(weights)
        super().__init__(layers, activation, weights[: len(weights) - len(self._trunk)], metadata)
        self.spec, self.weights = spec, weights

    def forward(self, obs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Outputs f32 `[..., n_actions]` and values f32 `[...]`."""
        layout = self.spec.layout
        if not layout.pictures:
            return super().forward(obs)
        seen, axes = np.asarray(obs), len(layout.shape)
        if seen.shape[-axes:] != layout.shape:
            what = "pictures" if layout.alone else "rows of pictures and numbers"
            raise ValueError(f"this policy reads {what} of shape {layout.shape}; got {seen.shape}")
        rows = layout.forward(self._trunk, seen.reshape(-1, *layout.shape))
        return super().forward(rows.reshape(*seen.shape[:-axes], -1))

    def act(
        self,
        obs: NDArray[Any],
        rng: np.random.Generator | None = None,
        greedy: bool = False,
        mask: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """The environment's action for one observation, or for `[N, ...]` of them. `mask`, as in
        `info["action_mask"]`: `[..., n_actions]`, true or 1 for the options that are allowed. Raises ValueError for a
        mask of a Box, or of another shape.
        """
        single = np.ndim(obs) == len(self.spec.layout.shape)
        outputs, _ = self.forward(np.asarray(obs)[None] if single else obs)
        if mask is not None:
            allowed = np.asarray(mask, bool).reshape(len(outputs), -1)
            if self.actions.kind == "box" or allowed.shape != outputs.shape:
                raise ValueError(
                    f"a mask has one number for each option of discrete actions, {outputs.shape}; got {np.shape(mask)}"
                )
            outputs = np.where(self.actions.allowing(allowed), outputs, np.float32(FORBIDDEN))
        taken = self.actions.to_environment(
            self.actions.draw(outputs, self.distribution, rng or self._rng, greedy), self.distribution
        )
        return taken[0] if single else taken

    def allowed(self, info: Mapping[str, Any]) -> Any:
        """The mask that an environment's info has for these actions; None where it has none, or a Box is drawn."""
        return None if self.actions.kind == "box" else info.get("action_mask")

    def with_weights(self, weights: NDArray[Any]) -> Self:
        """See `Policy.with_weights`."""
        spec = self.spec
        return type(self)(spec.layers, spec.activation, weights, self.environment, self.distribution, self.metadata)


class RecurrentGymPolicy(GymPolicy, RecurrentPolicy):
    """The same with a memory for each row of observations: call `forget` where an episode ends."""


def gym_policy(layers: Sequence[int], *given: Any) -> GymPolicy:
    """The policy with these `layers`, with a memory if they have one; `given` as for `GymPolicy`."""
    return (RecurrentGymPolicy if memory_of(layers) else GymPolicy)(layers, *given)
