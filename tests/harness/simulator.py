"""Numba's simulator of a GPU without its own waiting: `simulated` runs code in a process that has it."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import numpy as np

from tests.harness.scripts import printed

PATIENCE = 600.0
BEGIN = "from tests.harness import simulator\nsimulator.in_turn()\n"


def in_turn() -> None:
    """From now on in this process."""
    from numba.cuda.simulator.kernel import BlockManager, BlockThread, Dim3

    def together(self: Any, grid_point: tuple[int, ...], *arguments: Any) -> None:
        places = list(np.ndindex(*self._block_dim))
        all_there = threading.Barrier(len(places), timeout=PATIENCE)
        threads = [BlockThread(partial(self._f, *arguments), self, grid_point, at, self._debug) for at in places]
        for thread in threads:
            thread.syncthreads = all_there.wait
            thread.start()
        for thread in threads:
            thread.join()
            if thread.exception:
                raise thread.exception[0].with_traceback(thread.exception[1])

    def run(self: Any, grid_point: tuple[int, ...], *arguments: Any) -> None:
        if "syncthreads" in self._f.__code__.co_names:
            together(self, grid_point, *arguments)
            return
        here: Any = threading.current_thread()  # which the simulator asks for its place in the grid
        here.blockIdx = Dim3(*grid_point)
        for place in np.ndindex(*self._block_dim):
            here.threadIdx = Dim3(*place)
            self._f(*arguments)

    BlockManager.run = run


def simulated(code: str, *arguments: object) -> str:
    """What `code` prints in a process with the simulator. Fails where it fails."""
    return printed(BEGIN + code, *arguments, flags=("-W", "error::RuntimeWarning"), NUMBA_ENABLE_CUDASIM="1")
