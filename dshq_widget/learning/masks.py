"""Masks of allowed actions as samples keep them: one bit an action."""

from __future__ import annotations

import numpy as np

from dshq_kernels.simd.lanes import LANES


def mask_bits(mask: np.ndarray) -> np.ndarray:
    """u32 `[n, ceil(actions / 32), 16]` of a mask `[n, actions, 16]`: bit j % 32 of word j // 32."""
    n, actions, _ = mask.shape
    padded = np.zeros((n, -(-actions // 32) * 32, LANES), np.uint32)
    padded[:, :actions] = mask != 0
    words = padded.reshape(n, -1, 32, LANES) << np.arange(32, dtype=np.uint32)[:, None]
    return words.sum(axis=2, dtype=np.uint32)
