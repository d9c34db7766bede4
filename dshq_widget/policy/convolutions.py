"""The convolutions that read one picture: their weights come after the dense ones in the flat weights (layout.py).

Three convolutions with relu, after Mnih et al., "Human-level control through deep reinforcement learning", 2015, or of
small pictures two that look at neighbours; what comes out of the last one is what the dense part reads. Flat layout,
float32: per convolution W `[out, in, k, k]` row-major, then b `[out]`. Pictures are `[N, channels, height, width]`, and
their shades, 0 to 255, are divided by 255.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

CONVOLUTIONS = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
"""Channels, width of the kernel and stride of each."""
OF_SMALL = ((16, 3, 1), (32, 3, 1))
"""The same of pictures that are too small for those; the first is MinAtar's (Young and Tian, "MinAtar", 2019)."""
LARGE, SMALLEST = 36, 5
"""Pixels in width and height from which a picture is large, and from which it can be read at all."""
Pixels = tuple[int, ...]
"""Channels, height and width of a picture as it is read."""


def is_small(pixels: Sequence[int]) -> bool:
    """Whether pictures of this shape, channels first, are too small for three convolutions."""
    return min(pixels[1:]) < LARGE


def layers(pixels: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
    """The convolutions that read pictures of this shape."""
    return OF_SMALL if is_small(pixels) else CONVOLUTIONS


def shapes(pixels: Pixels) -> list[tuple[int, int, int, int]]:
    """The shape of each convolution's W: out, in, k, k."""
    inputs = [pixels[0], *(channels for channels, _, _ in layers(pixels))]
    return [(out, n, k, k) for n, (out, k, _) in zip(inputs, layers(pixels), strict=False)]


def places(pixels: Pixels) -> list[int]:
    """How many places each convolution looks at; raises ValueError for pictures that are too small."""
    height, width = pixels[1:]
    found = []
    for _, k, stride in layers(pixels):
        height, width = (height - k) // stride + 1, (width - k) // stride + 1
        found.append(height * width)
    if min(height, width) < 1:
        raise ValueError(f"pictures must be at least {SMALLEST} pixels wide and high, got {pixels[2]} by {pixels[1]}")
    return found


def features(pixels: Pixels) -> int:
    """Number of outputs; raises ValueError for pictures that are too small."""
    return layers(pixels)[-1][0] * places(pixels)[-1]


def outputs(pixels: Pixels) -> int:
    """Numbers that all convolutions give; raises ValueError for pictures that are too small."""
    return sum(shape[0] * count for shape, count in zip(shapes(pixels), places(pixels), strict=True))


def work(pixels: Pixels) -> int:
    """Multiplications for one picture; raises ValueError for one that is too small."""
    return sum(prod(shape) * count for shape, count in zip(shapes(pixels), places(pixels), strict=True))


def floats(pixels: Pixels) -> int:
    """Length of the flat weights."""
    return sum(prod(shape) + shape[0] for shape in shapes(pixels))


def split(weights: Any, pixels: Pixels) -> list[tuple[Any, Any]]:
    """(W, b) views of each convolution in its flat weights, an array or a tensor."""
    parts, at = [], 0
    for shape in shapes(pixels):
        middle = at + prod(shape)
        parts.append((weights[at:middle].reshape(shape), weights[middle : middle + shape[0]]))
        at = middle + shape[0]
    return parts


def forward(weights: np.ndarray, pixels: Pixels, pictures: np.ndarray) -> np.ndarray:
    """Features f32 `[N, features]` of pictures `[N, *pixels]`, shades 0 to 255."""
    x = pictures.astype(np.float32) / np.float32(255)
    for (matrix, bias), (_, k, stride) in zip(split(weights, pixels), layers(pixels), strict=True):
        windows = np.lib.stride_tricks.sliding_window_view(x, (k, k), (2, 3))[:, :, ::stride, ::stride]
        x = np.tensordot(windows, matrix, ((1, 4, 5), (1, 2, 3))) + bias  # [N, height, width, out]
        x = np.maximum(x, np.float32(0)).transpose(0, 3, 1, 2)
    return x.reshape(len(x), -1)
