"""Which functions numba compiles meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager

from numba.core import event


@contextmanager
def compiles() -> Iterator[list[str]]:
    """The names of the functions that numba compiles in this block; what it loads from disk is none."""
    names: list[str] = []
    with event.install_recorder("numba:run_pass") as recorder:
        yield names
    names += dict.fromkeys(one.data["qualname"] for _, one in recorder.buffer)
