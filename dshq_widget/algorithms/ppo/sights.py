"""What a learner sees of a vector of environments: their observations as they are, or screens of Atari games that torch
makes smaller and stacks on the learner's device.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from dshq_widget.gyms.reading import SIDE, STACK
from dshq_widget.policy.action_spaces import GymError

Observations = NDArray[Any] | torch.Tensor
"""Observations `[N, ...]`: torch's where they are made on its device."""


class AsGiven:
    """The observations of the environments called `name`, as the network reads them. Each method raises GymError if one
    is not finite.
    """

    def __init__(self, name: str):
        self.name = name

    def begin(self, obs: Any) -> NDArray[Any]:
        """The first observations, `[N, ...]`: after a reset of all environments."""
        return self._read(obs)

    def follow(self, obs: Any, over: NDArray[Any]) -> NDArray[Any]:
        """The next observations, `[N, ...]`; those where an episode is `over`, bool `[N]`, begin the one after it."""
        return self._read(obs)

    def last(self, obs: Any, rows: NDArray[Any]) -> NDArray[Any]:
        """The last observations `[n, ...]` of the episodes that end now in the n environments of `rows`, bool `[N]`."""
        return self._read(obs)

    def room(self, steps: int, now: Any) -> NDArray[Any]:
        """Memory `[steps, N, ...]` for observations like `now`."""
        return np.empty((steps, *now.shape), now.dtype)

    def _read(self, obs: Any) -> NDArray[Any]:
        read = obs if obs.dtype == np.uint8 and obs.ndim == 4 else np.asarray(obs, np.float32)
        if read.dtype != np.uint8 and not np.isfinite(read).all():
            raise GymError(f"{self.name} returned an observation that is not finite: fix the environment")
        return read


class StackedScreens:
    """The same for screens of Atari games, uint8 `[N, height, width]`: what the network reads, uint8 `[N, 4, 84, 84]`,
    stays on `device`, one of torch's. Shades are those of `AtariPreprocessing` and `FrameStackObservation`, or one
    apart where the sums of OpenCV and torch lie on both sides of a half.
    """

    def __init__(self, screen: tuple[int, ...], device: str):
        height, width = screen
        self.device = torch.device(device)
        self.rows, self.columns = shares(height).to(self.device), shares(width).T.contiguous().to(self.device)
        self.now = torch.empty(0, dtype=torch.uint8, device=self.device)

    def begin(self, obs: NDArray[Any]) -> torch.Tensor:
        """See `AsGiven.begin`."""
        self.now = self._small(obs)[:, None].repeat(1, STACK, 1, 1)
        return self.now

    def follow(self, obs: NDArray[Any], over: NDArray[Any]) -> torch.Tensor:
        """See `AsGiven.follow`; where an episode begins, all four are its first frame."""
        newest = self._small(obs)[:, None]
        stacked = torch.cat([self.now[:, 1:], newest], 1)
        self.now = torch.where(torch.from_numpy(over).to(self.device)[:, None, None, None], newest, stacked)
        return self.now

    def last(self, obs: NDArray[Any], rows: NDArray[Any]) -> torch.Tensor:
        """See `AsGiven.last`; asked before `follow`."""
        before = self.now[torch.from_numpy(rows).to(self.device)]
        return torch.cat([before[:, 1:], self._small(obs)[:, None]], 1)

    def room(self, steps: int, now: Any) -> torch.Tensor:
        """See `AsGiven.room`."""
        return torch.empty((steps, *now.shape), dtype=now.dtype, device=self.device)

    def _small(self, screens: NDArray[Any]) -> torch.Tensor:
        """uint8 `[N, 84, 84]` of uint8 `[N, height, width]`."""
        shades = torch.from_numpy(screens).to(self.device).float()
        return (self.rows @ shades @ self.columns).round_().clamp_(0, 255).to(torch.uint8)


def shares(size: int) -> torch.Tensor:
    """f32 `[84, size]`: how much of each of `size` pixels in a row goes into each of 84, by the area that both cover,
    as OpenCV's INTER_AREA has it.
    """
    edges, pixels = np.arange(SIDE + 1) * (size / SIDE), np.arange(size)
    covered = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    parts = np.maximum(covered, 0)
    return torch.from_numpy((parts / parts.sum(1, keepdims=True)).astype(np.float32))
