"""Layers for frames in which a few small things move on a ground that stands still. The encoder says what is where,
and the decoder draws spots: heading and ball are found and drawn sooner with them (measured: docs/LOG.md).

A frame is drawn from a *code*, a short row of numbers that the encoder makes of it. Latents learn to expect the code,
not the frame: what it shows is found without the noise of categorical latents, and each of its parts weighs the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from dshq_widget.algorithms.dreamer.model.layers import Dense, _down, _Norm, shrunk
from dshq_widget.algorithms.dreamer.model.places import Places
from dshq_widget.algorithms.dreamer.model.sizes import EPSILON, LOOKS
from dshq_widget.pixels.packing import SHADES

BREADTH, FAR, HEIGHT = 0.35, 0.6, 3.0
"""Of spots at first: half a breadth and the farthest from the middle, where the frame reaches from -1 to 1; and how
much an output of 1 changes a shade's logit (assumed).
"""
GAIN = 10.0
"""Of the ground, which is a weight for each pixel: so it is learned ten times as fast (assumed)."""
SMALLEST, LARGEST = -5.0, 2.0
"""Logarithms of half a spot's breadth: less than a third of a pixel, and more than the frame."""


class Glance(Places):
    """Where each channel is active, and what is there: the mean of `LOOKS` features under the same softmax,
    `[n, channels * (2 + LOOKS)]`.
    """

    def __init__(self, height: int, width: int, channels: int) -> None:
        super().__init__(height, width)
        self.looks = nn.Linear(channels, LOOKS)

    def forward(self, pictures: Tensor) -> Tensor:
        active = pictures.permute(0, 2, 3, 1).flatten(1, 2)  # [n, places, channels]
        shares = (active * self.sharpness.exp()).softmax(1).transpose(1, 2)
        known = torch.cat([self.places.expand(len(active), -1, -1), self.looks(active)], -1)
        return (shares @ known).flatten(1)


class GlanceEncoder(nn.Module):
    """f32 `[n, 1, height, width]` from -0.5 to 0.5 -> a frame's code, `[n, features]` with mean 0 and variance 1: each
    shade but the ground's is a plane of its own, and of each stage's pictures only glances are passed on.
    """

    def __init__(self, height: int, width: int, depth: int, strides: Sequence[int], code: int) -> None:
        super().__init__()
        shrunk(height, width, strides)
        channels = [SHADES - 1, *(depth * 2**k for k in range(len(strides)))]
        self.stages, self.glances = nn.ModuleList(), nn.ModuleList()
        for n_in, n_out, stride in zip(channels[:-1], channels[1:], strides, strict=True):
            height, width = height // stride, width // stride
            self.stages.append(nn.Sequential(_down(n_in, n_out, stride), _Norm(n_out)))
            self.glances.append(Glance(height, width, n_out))
        self.register_buffer("shades", torch.arange(1.0, SHADES)[:, None, None] / (SHADES - 1) - 0.5, persistent=False)
        self.shades: Tensor
        self.code, self.norm = nn.Linear((2 + LOOKS) * sum(channels[1:]), code), nn.LayerNorm(code, EPSILON, False)
        self.features = code

    def forward(self, frames: Tensor) -> Tensor:
        x, found = ((frames - self.shades).abs() < 0.5 / SHADES).float(), []
        for stage, glance in zip(self.stages, self.glances, strict=True):
            x = stage(x)
            found.append(glance(x))
        return self.norm(self.code(torch.cat(found, 1)))


class SpotDecoder(nn.Module):
    """Latents `[n, latent]` -> the mean of a frame f32 `[n, 1, height, width]`, by way of the code that they expect.
    The logits of a frame's shades are those of a ground that is always there and of so many spots: bumps with a place,
    a height and a breadth, and so much of each shade.
    """

    def __init__(self, height: int, width: int, spots: int, latent: int, units: int, code: int) -> None:
        super().__init__()
        self.expected = nn.Sequential(Dense(latent, units), nn.Linear(units, code))
        self.spots, self.hidden = spots, Dense(code, units)
        self.out = nn.Linear(units, spots * (4 + SHADES))
        self.ground = nn.Parameter(torch.zeros(SHADES, height, width))
        for name, n in (("rows", height), ("columns", width)):
            self.register_buffer(name, torch.linspace(-1, 1, n), persistent=False)
        self.rows: Tensor
        self.columns: Tensor

    def initialise(self, generator: torch.Generator) -> None:
        """Broad spots everywhere: what is far from its place has a slope, too."""
        with torch.no_grad():
            first = self.out.bias.view(self.spots, -1)
            first[:, :2].uniform_(-FAR, FAR, generator=generator)
            first[:, 2:4] = math.log(BREADTH)
            first[:, 4:].normal_(0, 0.5, generator=generator)

    def logits(self, code: Tensor) -> Tensor:
        """Of codes `[n, code]`: f32 `[n, SHADES, height, width]`."""
        said = self.out(self.hidden(code)).unflatten(-1, (self.spots, -1))
        at, sharp, much = said[..., :2], (-said[..., 2:4].clamp(SMALLEST, LARGEST)).exp(), HEIGHT * said[..., 4:]
        down, across = (
            (-0.5 * ((line - at[..., k, None]) * sharp[..., k, None]).square()).exp()
            for k, line in enumerate((self.rows, self.columns))
        )  # [n, spots, height] and [n, spots, width]
        tall = (down[:, :, None] * much[..., None]).flatten(2).transpose(1, 2)  # [n, SHADES * height, spots]
        ground = (GAIN * self.ground).flatten(0, 1).expand(len(code), -1, -1)
        return torch.baddbmm(ground, tall, across).unflatten(1, (SHADES, -1))

    def forward(self, latents: Tensor) -> Tensor:
        shares = self.logits(self.expected(latents)).softmax(1)
        shades = torch.arange(SHADES, device=shares.device) / (SHADES - 1) - 0.5
        return (shares * shades[:, None, None]).sum(1, keepdim=True)


def surprisal(logits: Tensor, pixels: Tensor) -> Tensor:
    """Minus the log likelihood of frames f32 `[n, 1, height, width]`, from -0.5 to 0.5: `[n]`, nats."""
    shades = ((pixels[:, 0] + 0.5) * (SHADES - 1)).round().long()
    return functional.cross_entropy(logits, shades, reduction="none").sum((-2, -1))
