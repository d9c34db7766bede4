"""Layers that know where things are. Small things on a large field, such as a ball, are found and drawn sooner with
them (measured: docs/LOG.md).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from dshq_widget.algorithms.dreamer.model.sizes import EPSILON, WAVES

SHARPNESS = 4.0
"""Of the softmax, at first (assumed)."""
SPREAD = 3.0
"""Places reach from minus this to this, so that they weigh like other features (assumed)."""


class Places(nn.Module):
    """Where each channel of pictures `[n, channels, height, width]` is active: the mean place under a softmax over all
    places, y and x, `[n, 2 * channels]` (spatial softmax: Finn et al., "Deep Spatial Autoencoders for Visuomotor
    Learning", 2016).
    """

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        y, x = torch.linspace(-SPREAD, SPREAD, height), torch.linspace(-SPREAD, SPREAD, width)
        self.register_buffer("places", torch.cartesian_prod(y, x), persistent=False)
        self.places: Tensor
        self.sharpness = nn.Parameter(torch.tensor([math.log(SHARPNESS)]))

    def forward(self, pictures: Tensor) -> Tensor:
        active = pictures.permute(0, 2, 3, 1).flatten(1, 2)  # [n, places, channels]
        shares = (active * self.sharpness.exp()).softmax(1)
        return (shares.transpose(1, 2) @ self.places).flatten(1)


class PlacedDecoder(nn.Module):
    """Latents `[n, latent]` -> the mean of a frame f32 `[n, 1, height, width]`. Every cell of `side` x `side` pixels is
    drawn by the same layers from the latent and the cell's coordinates, as waves (spatial broadcast: Watters et al.,
    2019; here the latent says how much each wave counts).
    """

    def __init__(self, height: int, width: int, side: int, latent: int, units: int) -> None:
        super().__init__()
        self.small, self.side = (height // side, width // side), side
        y, x = ((torch.arange(n) + 0.5) / n for n in self.small)
        rows, columns = _waves(y), _waves(x)
        waves = rows[:, None, :, None] * columns[None, :, None, :]
        self.register_buffer("waves", waves.flatten(0, 1).flatten(1), persistent=False)
        self.waves: Tensor
        self.of_latent, self.of_waves = nn.Linear(latent, 2 * units), nn.Linear(self.waves.shape[1], 2 * units)
        self.norm, self.hidden = nn.LayerNorm(2 * units, EPSILON), nn.Linear(2 * units, units)
        self.norm_hidden, self.out = nn.LayerNorm(units, EPSILON), nn.Linear(units, side**2)

    def forward(self, latents: Tensor) -> Tensor:
        given, waves = self.of_latent(latents)[:, None], self.of_waves(self.waves)
        x = functional.silu(self.norm(given * waves + given))  # [n, cells, 2 * units]
        x = self.out(functional.silu(self.norm_hidden(self.hidden(x))))
        cells = x.unflatten(-1, (self.side, self.side)).unflatten(1, self.small)  # [n, h, w, side, side]
        return cells.transpose(2, 3).flatten(3, 4).flatten(1, 2)[:, None]


def _waves(at: Tensor) -> Tensor:
    """f32 `[n, 2 * WAVES + 1]`: 1, and sines and cosines of places from 0 to 1."""
    angles = math.pi * at[:, None] * torch.tensor(WAVES)
    return torch.cat([torch.ones_like(at)[:, None], angles.sin(), angles.cos()], 1)
