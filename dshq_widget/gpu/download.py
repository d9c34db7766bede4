"""Asynchronous copies from a device to the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor


class Download:
    """Room for one set of named tensors. `start` puts their copies on the current stream, into memory that the
    device writes by itself; `take` returns them once they are there.
    """

    def __init__(self, like: Mapping[str, Tensor]):
        self._on_gpu = any(tensor.device.type == "cuda" for tensor in like.values())
        self._room = {
            name: torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=self._on_gpu)
            for name, tensor in like.items()
        }
        self._arrived = torch.cuda.Event() if self._on_gpu else None
        self._under_way = False

    def start(self, tensors: Mapping[str, Tensor]) -> bool:
        """Returns False and does nothing while the last set has not been taken. Later changes are not included."""
        if self._under_way:
            return False
        for name, room in self._room.items():
            room.copy_(tensors[name].detach(), non_blocking=True)
        if self._arrived is not None:
            self._arrived.record()
        self._under_way = True
        return True

    def take(self, wait: bool = False) -> dict[str, NDArray[Any]] | None:
        """A copy of the set; None if there is none or, unless `wait`, while it is still being copied."""
        if not self._under_way:
            return None
        if self._arrived is not None:
            if wait:
                self._arrived.synchronize()
            elif not self._arrived.query():
                return None
        self._under_way = False
        return {name: room.numpy().copy() for name, room in self._room.items()}
