"""Running normalisers of observations and rewards, folded into the network, so that only the learner sees them.

Only between `unfold` and `fold` do the weights work on normalised numbers. Then the first layer reads observations of
mean 0 and deviation 1, and the value is in units of the deviation of returns; van Hasselt et al., "Learning values
across many orders of magnitude", 2016, keep the value's scale in its last layer, too. Since a linear layer cannot hold
it, observations are not clipped (usual: +-5 or +-10); `SMALLEST` keeps a nearly constant one from exploding. Rewards
themselves stay as they are: rollouts, files and the page see values in the reward's own unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dshq_kernels.run import moments
from dshq_widget.policy.network import PolicySpec

if TYPE_CHECKING:
    from dshq_kernels.play.rollout import Samples

FIRST_COUNT = 1e-4
"""Weight of the initial mean 0 and deviation 1, in samples."""
SMALLEST = 1e-2
"""Lower limit of the deviation used as divisor (assumed; a drill's observations have about unit size)."""


class Moments:
    """Running mean and variance of `size` features."""

    def __init__(self, size: int):
        self.numbers = np.concatenate([np.zeros(size), np.ones(size), [FIRST_COUNT]])
        """f64 `[2 size + 1]`: means, variances, their count."""

    @property
    def mean(self) -> np.ndarray:
        return self.numbers[: self.numbers.size // 2]

    @property
    def variance(self) -> np.ndarray:
        return self.numbers[self.numbers.size // 2 : -1]

    @property
    def count(self) -> float:
        return float(self.numbers[-1])

    @property
    def deviation(self) -> np.ndarray:
        return np.maximum(np.sqrt(self.variance), SMALLEST)

    def add(self, values: np.ndarray, units: np.ndarray) -> None:
        """Join those of f32 `[units, size, 16]` over the int64 `units`, unless they are not finite."""
        moments.add(units, values, self.numbers, np.empty((2, self.mean.size)))


class Normalizer:
    """Moments of observations and returns. The learned function does not change when the moments do: the weights are
    unfolded and folded with the same ones. While it is `empty` there are none yet, so the first rollout is not learned
    from: it gives the moments (`measured`). Only an untrained network's weights (`fresh`) are made for normalised
    numbers; those of a file without moments play as they are. Shades of pictures are left alone: the numbers are the
    last that the first layer reads (policy/layout.py).
    """

    def __init__(self, spec: PolicySpec, observations: bool = False, rewards: bool = False):
        if observations and spec.front:
            raise ValueError(
                "normalize_observations works only with dense networks, not with a grid or pairs: set it to false"
            )
        self.spec = spec
        numbers = spec.layout.numbers
        self.observations = Moments(numbers) if observations and numbers else None
        self._numbers = slice(spec.layers[0] - numbers, spec.layers[0])  # rows of the first layer
        self.returns = Moments(1) if rewards else None
        self.fresh = self.empty = True

    @property
    def active(self) -> bool:
        return self.observations is not None or self.returns is not None

    @property
    def measures(self) -> bool:
        """Whether the next rollout is for the moments alone."""
        return self.active and self.empty

    @property
    def inputs(self) -> np.ndarray:
        """f32 `[numbers, 2]`: mean and 1 / deviation of each number observed; `[0, 2]` where they are left alone."""
        if self.observations is None:
            return np.zeros((0, 2), np.float32)
        return np.stack([self.observations.mean, 1 / self.observations.deviation], axis=1).astype(np.float32)

    @property
    def reward_scale(self) -> float:
        """Factor of values and returns while learning."""
        return 1.0 if self.returns is None else float(np.float32(1 / self.returns.deviation[0]))

    def unfold(self, blob: np.ndarray) -> np.ndarray:
        """Convert playing weights to weights on normalised numbers."""
        blob = blob.astype(np.float64)
        (matrix, bias), (head, head_bias) = (self.spec.split(blob)[k] for k in (0, -1))
        if self.returns is not None:
            head[:, -1] /= self.returns.deviation
            head_bias[-1:] /= self.returns.deviation
        if self.observations is not None:
            rows = matrix[self._numbers]
            bias += self.observations.mean @ rows
            rows *= self.observations.deviation[:, None]
        return blob.astype(np.float32)

    def fold(self, blob: np.ndarray) -> np.ndarray:
        """The inverse of `unfold`."""
        blob = blob.astype(np.float64)
        (matrix, bias), (head, head_bias) = (self.spec.split(blob)[k] for k in (0, -1))
        if self.observations is not None:
            rows = matrix[self._numbers]
            rows /= self.observations.deviation[:, None]
            bias -= self.observations.mean @ rows
        if self.returns is not None:
            head[:, -1] *= self.returns.deviation
            head_bias[-1:] *= self.returns.deviation
        return blob.astype(np.float32)

    def learned(self, blob: np.ndarray, samples: Samples, units: np.ndarray) -> np.ndarray:
        """Add the rollout that was just learned from and return the learned weights, folded."""
        folded = self.fold(blob)
        self._add_all(samples, units)
        return folded

    def measured(self, blob: np.ndarray, samples: Samples, units: np.ndarray) -> np.ndarray:
        """Add the first rollout, which is not learned from, and return the weights, untrained ones folded."""
        self._add_all(samples, units)
        found = self.fold(blob) if self.fresh else blob
        self.begun()
        return found

    def begun(self) -> None:
        """There are moments, and the weights are made for them."""
        self.fresh = self.empty = False

    def loaded(self, untrained: bool) -> None:
        """Other weights were loaded. Untrained ones are made for normalised numbers, whatever the moments are by now:
        the next rollout is measured, and they are folded.
        """
        self.fresh = untrained
        self.empty |= untrained

    def _add_all(self, samples: Samples, units: np.ndarray) -> None:
        if self.observations is not None:
            obs = samples.obs
            if self.spec.pictures:
                obs = np.ascontiguousarray(obs[..., -self.observations.mean.size :].transpose(0, 2, 1))
            self.observations.add(obs, units)
        if self.returns is not None:
            self.returns.add(samples.returns[:, None], units)

    def state(self) -> dict[str, np.ndarray]:
        """The moments of what is normalised."""
        parts = {"normalizer.observations": self.observations, "normalizer.returns": self.returns}
        return {name: found.numbers.copy() for name, found in parts.items() if found is not None}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `state` returned; missing parts stay unchanged."""
        for name, found in (("normalizer.observations", self.observations), ("normalizer.returns", self.returns)):
            if found is not None and name in state and state[name].size == found.numbers.size:
                found.numbers[:] = state[name]
                self.fresh = self.empty = found.count < 1
