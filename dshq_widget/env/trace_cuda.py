"""The traced games as GPU threads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dshq_widget.drill.compiled import CompiledDrill


class Threads:
    """On the GPU, or in numba's simulator of one."""

    def __init__(self, drill: CompiledDrill, seed: int):
        from numba import cuda

        self._to_device = cuda.to_device
        self._game = drill.device_game("cuda")
        self._state = self._game.new(16, seed, practice=True)

    def observe(self) -> NDArray[Any]:
        return self._game.observe(self._state).copy_to_host()

    def terms(self) -> NDArray[Any]:
        return self._game.terms(self._state).copy_to_host()

    def mask(self) -> NDArray[Any]:
        return self._game.mask(self._state).copy_to_host() != 0

    def actions(self, who: str) -> NDArray[Any]:
        return self._game.actions(self._state, who).copy_to_host()

    def decide(self, actions: NDArray[Any]) -> None:
        self._state[self._game.rows["action"]] = self._to_device(actions.view(np.uint32))
        self._game.decide(self._state)

    def tick(self) -> None:
        self._game.tick(self._state)

    def words(self) -> NDArray[Any]:
        return self._game.words(self._state)

    def status(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        terminated, winner = self._game.status(self._state).copy_to_host()
        return terminated != 0, winner, self.words()[:, self._game.rows["ticks"].start].view(np.int32)

    def reset(self, chosen: NDArray[Any]) -> None:
        self._game.reset(self._state, self._to_device(chosen.astype(np.uint8)))
