"""`normalizer.Normalizer` on the learner's device: the same moments and weights, without waiting for the host."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from dshq_kernels.network.layers import shapes
from dshq_widget.algorithms.ppo.learners.normalizer import SMALLEST, Moments, Normalizer


class DeviceMoments:
    """Running mean and variance of `size` features; see `normalizer.Moments`."""

    def __init__(self, host: Moments, device: torch.device):
        self.host = host
        size = len(host.mean)
        self.mean, self.variance = (torch.zeros(size, dtype=torch.float64, device=device) for _ in range(2))
        self.count = torch.zeros((), dtype=torch.float64, device=device)
        self.load()

    def load(self) -> None:
        """Copy the moments from the host."""
        self.mean.copy_(torch.from_numpy(self.host.mean))
        self.variance.copy_(torch.from_numpy(self.host.variance))
        self.count.fill_(float(self.host.count))

    def store(self) -> None:
        """Copy the moments to the host; waits for the device."""
        self.host.numbers[:] = torch.cat([self.mean, self.variance, self.count[None]]).cpu().numpy()

    def add(self, mean: Tensor, variance: Tensor, count: Tensor) -> None:
        """Joins those of `count` more samples, unless they are not finite."""
        total, step = self.count + count, mean - self.mean
        squares = self.variance * self.count + variance * count + step**2 * (self.count * count / total)
        fine = mean.isfinite().all() & variance.isfinite().all()
        for old, new in (
            (self.mean, self.mean + step * (count / total)),
            (self.variance, squares / total),
            (self.count, total),
        ):
            old.copy_(torch.where(fine, new, old))

    @property
    def deviation(self) -> Tensor:
        return self.variance.sqrt().clamp(min=SMALLEST)


class DeviceNormalizer:
    """Moments of observations and returns on the learner's device; `store` copies them to `host`."""

    def __init__(self, host: Normalizer, device: torch.device):
        self.host, self.layers = host, host.spec.layers
        self.observations = DeviceMoments(host.observations, device) if host.observations else None
        self.returns = DeviceMoments(host.returns, device) if host.returns else None
        self.shift = torch.zeros(self.layers[0], device=device)
        """f32 `[n_obs]`: what is taken from observations, before `factor` scales them."""
        self.factor = torch.ones(self.layers[0], device=device)
        self.reward_scale = torch.ones((), device=device)
        """Factor of values and returns while learning."""

    @property
    def active(self) -> bool:
        return self.host.active

    def tensors(self) -> list[Tensor]:
        """All tensors that an update changes."""
        known = [moments for moments in (self.observations, self.returns) if moments is not None]
        moments = [x for found in known for x in (found.mean, found.variance, found.count)]
        return [*moments, self.shift, self.factor, self.reward_scale]

    def unfold(self, weights: Tensor) -> None:
        """Convert playing weights, in place, to weights on normalised numbers, with the current scales."""
        matrix, bias, head, head_bias = self._ends(weights)
        if self.returns is not None:
            deviation = self.returns.deviation
            self.reward_scale.copy_(1 / deviation[0])
            head[:, -1] = head[:, -1].double() / deviation
            head_bias[-1:] = head_bias[-1:].double() / deviation
        if self.observations is not None:
            deviation = self.observations.deviation
            self.shift.copy_(self.observations.mean)
            self.factor.copy_(1 / deviation)
            bias.copy_(bias.double() + self.observations.mean @ matrix.double())
            matrix.copy_(matrix.double() * deviation[:, None])

    def fold(self, weights: Tensor) -> None:
        """The inverse of `unfold`."""
        matrix, bias, head, head_bias = self._ends(weights)
        if self.observations is not None:
            scaled = matrix.double() / self.observations.deviation[:, None]
            bias.copy_(bias.double() - self.observations.mean @ scaled)
            matrix.copy_(scaled)
        if self.returns is not None:
            head[:, -1] = head[:, -1].double() * self.returns.deviation
            head_bias[-1:] = head_bias[-1:].double() * self.returns.deviation

    def load(self) -> None:
        """Copy the moments from the host."""
        for moments in (self.observations, self.returns):
            if moments is not None:
                moments.load()

    def store(self) -> None:
        """Copy the moments to the host; waits for the device."""
        for moments in (self.observations, self.returns):
            if moments is not None:
                moments.store()

    def _ends(self, weights: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Views of the first layer's matrix and bias, and of the last one's."""
        parts = shapes(self.layers)
        (n_in, n_out), (m_in, m_out) = parts[0], parts[-1]
        begin = sum(rows * columns + columns for rows, columns in parts[:-1])
        ends = np.cumsum([0, n_in * n_out, n_out]), np.cumsum([begin, m_in * m_out, m_out])
        (a, b, c), (d, e, f) = (part.tolist() for part in ends)
        return weights[a:b].view(n_in, n_out), weights[b:c], weights[d:e].view(m_in, m_out), weights[e:f]
