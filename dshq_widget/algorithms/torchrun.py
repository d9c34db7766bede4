"""A process's place among those that torchrun starts. Imports no torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

COMMAND = "torchrun --nproc-per-node 2 --no-python dshq train ball --joint true"


@dataclass(frozen=True)
class Place:
    """`rank` of `size` processes, and the number of its GPU on this machine."""

    rank: int
    size: int
    local: int

    @classmethod
    def of(cls, environ: Mapping[str, str] = os.environ) -> Place:
        """What torchrun's variables say. Raises RuntimeError where they are missing."""
        try:
            return cls(*(int(environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")))
        except (KeyError, ValueError):
            raise RuntimeError(
                f"joint learning needs processes that torchrun has started: {COMMAND}; or leave out --joint"
            ) from None


def started_by_torchrun() -> bool:
    """Whether torchrun has started this process, and others beside it."""
    return os.environ.get("WORLD_SIZE", "1") != "1" and "TORCHELASTIC_RUN_ID" in os.environ
