"""`gae.gae` as a kernel, one GPU thread for each game's side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

from dshq_kernels.backends import threads

BLOCK = 128
"""Threads in a block (assumed: to be measured on a GPU)."""


@cuda.jit(cache=True)
def gae_kernel(rewards, values, last_values, final_values, terminated, truncated, discounts, advantages, returns):
    """Arrays as in `gae.gae`, bools as u8; `discounts` f32 (gamma, lambda); writes `advantages` and `returns`."""
    n = cuda.grid(1)
    if n < rewards.shape[1]:
        gamma, trace = discounts[0], discounts[0] * discounts[1]
        carry, following = np.float32(0), last_values[n]
        for back in range(rewards.shape[0]):
            t = rewards.shape[0] - 1 - back
            if terminated[t, n] != 0:
                carry, following = np.float32(0), np.float32(0)
            elif truncated[t, n] != 0:
                carry, following = np.float32(0), final_values[t, n]
            value = values[t, n]
            carry = rewards[t, n] + gamma * following - value + trace * carry
            advantages[t, n] = carry
            returns[t, n] = carry + value
            following = value


def launch_gae(arrays: tuple[Any, ...], stream: Any = 0) -> None:
    """`gae_kernel` over device arrays in its own order, on a stream."""
    count, block = arrays[0].shape[1], 16 if threads.SIMULATED else BLOCK
    gae_kernel[(count + block - 1) // block, block, stream](*arrays)
