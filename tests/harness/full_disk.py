"""A disk that is full after so many bytes: what is written in whole files (files/atomic.py) meets it."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class Filling(io.FileIO):
    """Takes `left` bytes, the last of them perhaps in a short write, then none."""

    left = 0

    def write(self, data: Any) -> int:
        taken = bytes(memoryview(data)[: self.left])
        if not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= len(taken)
        return super().write(taken)


@contextmanager
def full_after(nbytes: int) -> Iterator[None]:
    """The disk takes `nbytes` of each file."""

    def fdopen(descriptor: int, mode: str) -> io.BufferedRandom | io.BufferedWriter:
        raw = Filling(descriptor, mode)
        raw.left = nbytes
        return (io.BufferedRandom if "+" in mode else io.BufferedWriter)(raw, 256)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fdopen", fdopen)
        yield
