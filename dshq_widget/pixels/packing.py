"""Two-bit frames, four pixels to a byte: `byte = p0 | p1 << 2 | p2 << 4 | p3 << 6`, p0 the leftmost.

A packed frame is u8 `[..., height, width / 4]`. The bit order is that of gbxcule's packed2 frames, so that memories of
either can be read by the other.
"""

from __future__ import annotations

from functools import lru_cache

import torch
from torch import Tensor

HEIGHT, WIDTH, SHADES = 72, 80, 4
PER_BYTE = 4
PACKED = (1, HEIGHT, WIDTH // PER_BYTE)
"""One frame as it lies in memory: channel, rows, bytes of a row; 1,440 bytes."""
_SHIFTS = (0, 2, 4, 6)


def pack(pixels: Tensor) -> Tensor:
    """u8 `[..., width]` of shades 0..3 -> u8 `[..., width / 4]`. Raises ValueError where the width does not divide by
    four or a shade is none.
    """
    if pixels.dtype != torch.uint8 or pixels.shape[-1] % PER_BYTE:
        raise ValueError(
            f"expected u8 pixels with a width divisible by {PER_BYTE}, got {pixels.dtype} of shape "
            f"{tuple(pixels.shape)}"
        )
    if pixels.numel() and int(pixels.max()) >= SHADES:
        raise ValueError(f"expected shades 0 to {SHADES - 1}, got {int(pixels.max())}")
    parts = pixels.unflatten(-1, (-1, PER_BYTE)) << torch.tensor(_SHIFTS, dtype=torch.uint8, device=pixels.device)
    return parts.sum(-1, dtype=torch.uint8)


def unpack(packed: Tensor) -> Tensor:
    """u8 `[..., bytes]` -> u8 `[..., 4 * bytes]` of shades 0..3, by a table of 256 rows."""
    return shades(packed.device)[packed.int()].flatten(-2)


def normalised(packed: Tensor) -> Tensor:
    """f32 `[..., 4 * bytes]` from -0.5 to 0.5: shade / 3 - 1/2, what an encoder reads."""
    return (shades(packed.device).float() / (SHADES - 1) - 0.5)[packed.int()].flatten(-2)


@lru_cache
def shades(device: torch.device) -> Tensor:
    """u8 `[256, 4]`: the pixels of every byte."""
    byte, shifts = torch.arange(256, device=device)[:, None], torch.arange(0, 8, 2, device=device)  # not from the host
    return ((byte >> shifts) & 3).to(torch.uint8)


@lru_cache
def distances(device: torch.device) -> Tensor:
    """u8 `[256, 256]`: by how many shades two bytes differ, over their four pixels."""
    table = shades(device).int()
    return (table[:, None] - table[None]).abs().sum(-1).to(torch.uint8)
