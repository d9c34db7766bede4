"""PPO for a network of a person's own: the torch learner around their module."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dshq_widget.algorithms.ppo.learners.gym_ppo import GymPPO
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.policy.action_spaces import Actions
from dshq_widget.policy.own_module import OwnModule, check_finite
from dshq_widget.policy.own_network import MEAN, SCALE, VALUE_SCALE
from dshq_widget.policy.own_spec import OwnSpec

FIRST_COUNT = 1.0
"""Weight, in samples, of moments that come from weights alone: the next rollout's take their place."""


LEAST_SCALE = 1e-6
"""A file may hold any."""


class OwnNormalizer(Normalizer):
    """Normalises before and behind the module, not in its layers, which nobody knows: the moments are a part of the
    flat weights (policy/own_module.py). So what it computes changes a little as the moments do, as with wrappers that
    normalise an environment.
    """

    def __init__(self, spec: OwnSpec, observations: bool = False, rewards: bool = False) -> None:
        super().__init__(spec, observations, rewards)
        self._at = spec.places

    def unfold(self, blob: NDArray[Any]) -> NDArray[Any]:
        """See `Normalizer.unfold`: nothing is normalised by the module."""
        return self._with(blob, 0.0, 1.0, 1.0)

    def fold(self, blob: NDArray[Any]) -> NDArray[Any]:
        """See `Normalizer.fold`: the module normalises by the moments."""
        mean, scale = self.inputs.T if self.observations is not None else (0.0, 1.0)
        return self._with(blob, mean, scale, 1 / self.reward_scale)

    def _with(self, blob: NDArray[Any], mean: Any, scale: Any, value_scale: float) -> NDArray[Any]:
        blob = blob.astype(np.float32)
        if self.observations is not None:
            blob[self._at[MEAN]], blob[self._at[SCALE]] = mean, scale
        if self.returns is not None:
            blob[self._at[VALUE_SCALE]] = value_scale
        return blob

    def take(self, blob: NDArray[Any]) -> None:
        """Continue from the moments in trained weights."""
        if self.observations is not None:
            variance = 1 / np.square(np.maximum(blob[self._at[SCALE]].astype(np.float64), LEAST_SCALE))
            self.observations.numbers[:] = [*blob[self._at[MEAN]], *variance, FIRST_COUNT]
        if self.returns is not None:
            self.returns.numbers[:] = [0.0, float(blob[self._at[VALUE_SCALE]][0]) ** 2, FIRST_COUNT]
        self.fresh = self.empty = False


class OwnPPO(GymPPO):
    """See `learners.Learner`; the module of `spec` computes."""

    def __init__(
        self, spec: OwnSpec, actions: Actions, distribution: str, normalizer: OwnNormalizer, **options: Any
    ) -> None:
        self.module, self.moments = OwnModule.made(spec), normalizer
        super().__init__(spec, actions, distribution, normalizer=normalizer, **options)

    def outputs(self, obs: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
        """See `GymPPO.outputs`."""
        return self.module.outputs(self.weights if weights is None else weights, obs)

    def look(self, obs: NDArray[Any] | torch.Tensor) -> tuple[NDArray[Any], NDArray[Any]]:
        """See `GymPPO.look`. Raises NetworkError for results that are not finite."""
        outputs, values = super().look(obs)
        check_finite(self.module.spec, outputs, values)
        return outputs, values

    def load(self, blob: NDArray[Any]) -> None:
        """See `GymPPO.load`."""
        super().load(blob)
        if self.moments.active and not self.moments.fresh:
            self.moments.take(blob)
