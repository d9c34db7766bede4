"""Packed frames to pixels in three ways that agree to the bit: a table (`lut`, everywhere), a loop or a kernel of numba
(`numba`, everywhere), and Triton (`triton`, on a GPU that has it).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numba import cuda, njit
from torch import Tensor

from dshq_widget.pixels import packing

BLOCK = 256
"""Threads, or bytes of one Triton program (assumed: to be measured on a GPU)."""


def unpack(packed: Tensor, impl: str = "lut") -> Tensor:
    """u8 `[..., bytes]` -> u8 `[..., 4 * bytes]` of shades 0..3.

    Raises ValueError for a way that does not exist, another type or a layout that is not contiguous, and ImportError
    for Triton where it is missing.
    """
    if impl not in UNPACKERS:
        raise ValueError(f"impl: expected one of {', '.join(UNPACKERS)}, got {impl!r}")
    if packed.dtype != torch.uint8 or not packed.is_contiguous():
        raise ValueError(f"expected contiguous bytes, got {packed.dtype} of strides {packed.stride()}")
    return UNPACKERS[impl](packed)


def _room(packed: Tensor) -> Tensor:
    return packed.new_empty((*packed.shape[:-1], packed.shape[-1] * packing.PER_BYTE))


def _by_numba(packed: Tensor) -> Tensor:
    out = _room(packed)
    if packed.device.type == "cuda":
        grid = (packed.numel() + BLOCK - 1) // BLOCK
        stream = torch.cuda.current_stream(packed.device).cuda_stream
        _kernel[grid, BLOCK, _as_numba(stream)](cuda.as_cuda_array(packed.flatten()), cuda.as_cuda_array(out.flatten()))
    else:
        _loop(packed.numpy().reshape(-1), out.numpy().reshape(-1))
    return out


@lru_cache
def _as_numba(stream: int) -> Any:
    """A stream of torch's; numba prepares launches for each object. 0 is the default stream of both."""
    return cuda.external_stream(stream) if stream else 0


@njit(cache=True, nogil=True)
def _loop(packed, out):
    for k in range(packed.shape[0]):
        for pixel in range(4):
            out[4 * k + pixel] = np.uint8((packed[k] >> np.uint8(2 * pixel)) & np.uint8(3))


@cuda.jit(cache=True)
def _kernel(packed, out):
    k = cuda.grid(1)
    if k < packed.shape[0]:
        byte = np.uint32(packed[k])
        for pixel in range(4):
            out[4 * k + pixel] = np.uint8((byte >> np.uint32(2 * pixel)) & np.uint32(3))


def _by_triton(packed: Tensor) -> Tensor:
    from dshq_widget.pixels.triton_kernels import unpack_kernel

    out = _room(packed)
    unpack_kernel[((out.numel() + 4 * BLOCK - 1) // (4 * BLOCK),)](packed, out, out.numel(), block=4 * BLOCK)
    return out


UNPACKERS: dict[str, Callable[[Tensor], Tensor]] = {
    "lut": packing.unpack,
    "numba": _by_numba,
    "triton": _by_triton,
}
