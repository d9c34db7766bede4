"""CUDA graphs: GPU work recorded once and repeated as one launch."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

WARM_UPS = 2
"""Rounds before the recording: kernels compile in the first, and no memory is new to the allocator in the second."""


def captured(work: Callable[[], None], kept: Sequence[Tensor] = ()) -> Any:
    """`work` as a `torch.cuda.CUDAGraph`. Whatever it reads and writes has to keep its address, and it may not wait.

    It runs before it is recorded; the tensors in `kept` are then as they were. Raises RuntimeError, from torch, for
    work that cannot be recorded.
    """
    before = [tensor.detach().clone() for tensor in kept]
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UPS):
            work()
    torch.cuda.current_stream().wait_stream(aside)
    torch.cuda.synchronize()
    graph, collecting = torch.cuda.CUDAGraph(), gc.isenabled()
    gc.collect()
    gc.disable()  # whatever were collected during the recording might give memory back, which is forbidden there
    try:
        with torch.cuda.graph(graph, stream=aside, capture_error_mode="thread_local"):
            work()
    finally:
        if collecting:
            gc.enable()
    with torch.no_grad():
        for tensor, value in zip(kept, before, strict=True):
            tensor.copy_(value)
    return graph
