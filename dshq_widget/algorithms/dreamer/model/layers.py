"""Layers of the model: linear and convolutional ones with layer norm and SiLU, and their initial weights."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from dshq_widget.algorithms.dreamer.model.places import Places
from dshq_widget.algorithms.dreamer.model.sizes import EPSILON, KERNEL

TRUNCATED = 0.87962566103423978
"""Deviation of a standard normal distribution cut off at two deviations."""


class Dense(nn.Module):
    """`[..., n_in]` -> `[..., n_out]`: linear, layer norm, SiLU."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(n_in, n_out, bias=False), nn.LayerNorm(n_out, EPSILON)

    def forward(self, x: Tensor) -> Tensor:
        return functional.silu(self.norm(self.linear(x)))


class Head(nn.Module):
    """`layers` dense layers, then a linear one; `zero`: the last one begins at zero."""

    def __init__(self, n_in: int, units: int, layers: int, n_out: int, zero: bool = False) -> None:
        super().__init__()
        self.layers = nn.Sequential(*(Dense(units if k else n_in, units) for k in range(layers)))
        self.out, self.zero = nn.Linear(units, n_out), zero

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.layers(x))


class _Norm(nn.Module):
    """Layer norm over the channels of `[n, channels, height, width]`, SiLU."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels, EPSILON)

    def forward(self, x: Tensor) -> Tensor:
        return functional.silu(self.norm(x.permute(0, 2, 3, 1))).permute(0, 3, 1, 2)


def shrunk(height: int, width: int, strides: Sequence[int]) -> tuple[int, int]:
    """What the convolutions leave of a frame. Raises ValueError for a size that they cannot divide."""
    step = math.prod(strides)
    if height % step or width % step:
        raise ValueError(
            f"frames must have a height and a width divisible by {step}, the product of the strides; got "
            f"{height} x {width}: use {height // step * step or step} x {width // step * step or step}"
        )
    return height // step, width // step


class _Patches(nn.Module):
    """A convolution of stride `KERNEL` as one matrix product, which is faster: `[n, n_in, 4 h, 4 w]` ->
    `[n, n_out, h, w]`.
    """

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(n_in * KERNEL**2, n_out, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        parts = x.unflatten(-1, (-1, KERNEL)).unflatten(-3, (-1, KERNEL))  # [n, c, h, 4, w, 4]
        return self.linear(parts.permute(0, 2, 4, 1, 3, 5).flatten(3)).permute(0, 3, 1, 2)


class _FromPatches(nn.Module):
    """The same backwards: `[n, n_in, h, w]` -> `[n, n_out, 4 h, 4 w]`."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.linear = nn.Linear(n_in, n_out * KERNEL**2)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.linear(x.permute(0, 2, 3, 1)).unflatten(-1, (-1, KERNEL, KERNEL))  # [n, h, w, c, 4, 4]
        return parts.permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3)


def _down(n_in: int, n_out: int, stride: int) -> nn.Module:
    return _Patches(n_in, n_out) if stride == KERNEL else nn.Conv2d(n_in, n_out, KERNEL, 2, 1, bias=False)


def _up(n_in: int, n_out: int, stride: int) -> nn.Module:
    if stride == KERNEL:
        return _FromPatches(n_in, n_out)
    return nn.ConvTranspose2d(n_in, n_out, KERNEL, 2, 1, bias=n_out == 1)


class Encoder(nn.Module):
    """f32 `[n, 1, height, width]` -> `[n, features]`; with `places` also where each channel is active."""

    def __init__(self, height: int, width: int, depth: int, strides: Sequence[int], places: bool = False) -> None:
        super().__init__()
        small = shrunk(height, width, strides)
        channels = [1, *(depth * 2**k for k in range(len(strides)))]
        self.stages, self.places = nn.ModuleList(), nn.ModuleList()
        for n_in, n_out, stride in zip(channels[:-1], channels[1:], strides, strict=True):
            height, width = height // stride, width // stride
            self.stages.append(nn.Sequential(_down(n_in, n_out, stride), _Norm(n_out)))
            if places:
                self.places.append(Places(height, width))
        self.features = small[0] * small[1] * channels[-1] + (2 * sum(channels[1:]) if places else 0)

    def forward(self, frames: Tensor) -> Tensor:
        pictures, x = [], frames.contiguous(memory_format=torch.channels_last)
        for stage in self.stages:
            x = stage(x)
            pictures.append(x)
        found = [place(picture) for place, picture in zip(self.places, pictures, strict=False)]
        return torch.cat([x.permute(0, 2, 3, 1).flatten(1), *found], 1)


class Decoder(nn.Module):
    """Latents `[n, latent]` -> the mean of a frame f32 `[n, 1, height, width]`: the encoder backwards."""

    def __init__(self, height: int, width: int, depth: int, latent: int, strides: Sequence[int]) -> None:
        super().__init__()
        self.small = shrunk(height, width, strides)
        channels = [*(depth * 2**k for k in reversed(range(len(strides)))), 1]
        self.linear = nn.Linear(latent, self.small[0] * self.small[1] * channels[0])
        layers: list[nn.Module] = []
        for n_in, n_out, stride in zip(channels[:-1], channels[1:], reversed(strides), strict=True):
            layers += [_up(n_in, n_out, stride)] + ([] if n_out == 1 else [_Norm(n_out)])
        self.stages = nn.Sequential(*layers)

    def forward(self, latents: Tensor) -> Tensor:
        x = self.linear(latents).unflatten(-1, (*self.small, -1)).permute(0, 3, 1, 2)
        return self.stages(x)


def initialise(module: nn.Module, generator: torch.Generator) -> None:
    """Truncated normal weights of variance 1 / fan-in, biases and heads marked `zero` at 0 (danijar/dreamerv3)."""
    zero = {id(each.out.weight) for each in module.modules() if isinstance(each, Head) and each.zero}
    for weight, fan in _matrices(module):
        if id(weight) in zero:
            nn.init.zeros_(weight)
        else:
            deviation = math.sqrt(1 / fan) / TRUNCATED
            nn.init.trunc_normal_(weight, 0, deviation, -2 * deviation, 2 * deviation, generator=generator)
    for each in module.modules():
        if isinstance(bias := getattr(each, "bias", None), nn.Parameter):
            nn.init.zeros_(bias)


def _matrices(module: nn.Module) -> Iterator[tuple[Tensor, float]]:
    """Each weight that is not a norm's, and the inputs that reach one of its outputs."""
    for each in module.modules():
        if isinstance(each, nn.Linear):
            yield each.weight, each.in_features
        elif isinstance(each, nn.ConvTranspose2d):  # with a stride of 2 in both directions a quarter reaches a pixel
            yield each.weight, each.weight[:, 0].numel() / math.prod(each.stride)
        elif isinstance(each, nn.Conv2d):
            yield each.weight, each.weight[0].numel()
