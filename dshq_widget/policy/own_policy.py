"""Policies of a person's own network: their module decides, in NumPy's arrays as all policies do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from dshq_widget.policy.action_spaces import Actions
from dshq_widget.policy.gym_policy import GymPolicy
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.own_network import NetworkError
from dshq_widget.policy.own_spec import OwnSpec
from dshq_widget.policy.policy import Policy

if TYPE_CHECKING:
    from dshq_widget.policy.own_module import OwnModule


class OwnPolicy(Policy):
    """See `Policy`; `spec` is the network's. Raises ValueError for weights of another network."""

    spec: OwnSpec

    def __init__(self, spec: OwnSpec, weights: NDArray[Any], metadata: Mapping[str, Any] | None = None) -> None:
        from dshq_widget.policy.own_module import OwnModule

        self.weights = np.asarray(weights, np.float32)
        if wrong := spec.misfit(self.weights):
            raise ValueError(wrong)
        self.spec, self.metadata = spec, dict(metadata or {})
        self._rng = np.random.default_rng(0)
        self.module = OwnModule.made(spec)
        self.module.take(self.weights)

    def take(self, weights: NDArray[Any]) -> None:
        """Decide with these weights from now on."""
        self.weights = weights
        self.module.take(weights)

    def forward(self, obs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """See `Policy.forward`; observations are `[..., *shape]` of `spec.layout`. Raises NetworkError for results that
        are not finite.
        """
        shape, seen = self.spec.layout.shape, np.asarray(obs)
        if seen.shape[-len(shape) :] != shape:
            raise ValueError(f"this policy reads observations of shape {shape}; got {seen.shape}")
        rows = seen.shape[: -len(shape)]
        outputs, values = self.module.look(seen.reshape(-1, *shape))
        return outputs.reshape(*rows, -1), values.reshape(rows)

    def to_torch(self) -> OwnModule:  # type: ignore[override]
        """The module that decides, with what normalises around it: outputs and values of observations."""
        return self.module

    @property
    def declared(self) -> PolicySpec:
        """See `Policy.declared`."""
        return self.spec

    def with_torch(self, state: Mapping[str, Any]) -> Self:
        """The same policy with the state dict of `to_torch()`. Raises NetworkError for any other."""
        from dshq_widget.policy.own_module import OwnModule

        module = OwnModule.made(self.spec)
        try:
            module.load_state_dict(dict(state))
        except RuntimeError as error:
            raise NetworkError(" ".join(str(error).split())) from error
        return self.with_weights(module.flat())

    def with_weights(self, weights: NDArray[Any]) -> Self:
        """See `Policy.with_weights`."""
        return type(self)(self.spec, weights, self.metadata)


class OwnGymPolicy(OwnPolicy, GymPolicy):
    """See `GymPolicy`, which draws and translates the actions."""

    def __init__(
        self,
        spec: OwnSpec,
        weights: NDArray[Any],
        environment: Mapping[str, Any],
        distribution: str,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        OwnPolicy.__init__(self, spec, weights, metadata)
        self.environment, self.distribution = dict(environment), distribution
        self.actions = Actions.from_json(environment["actions"])

    def with_weights(self, weights: NDArray[Any]) -> Self:
        """See `Policy.with_weights`."""
        return type(self)(self.spec, weights, self.environment, self.distribution, self.metadata)
