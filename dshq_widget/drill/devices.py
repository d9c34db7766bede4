"""The devices that a drill's rules are generated for besides the processor and the page: a line each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dshq_kernels.backends.cuda import CudaGame, cuda_source
from dshq_kernels.language.ir import Program


@dataclass(frozen=True)
class Rules:
    """How a device runs rules."""

    source: Callable[[Program], str]
    """Of a typed program."""
    game: Callable[[str, Any], Any]
    """Of this source and the drill's spec. Raises RuntimeError if there is no such device."""


DEVICES: dict[str, Rules] = {
    "cuda": Rules(cuda_source, CudaGame),
}
