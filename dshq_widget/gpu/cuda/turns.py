"""`Turns` for games whose rules are CUDA kernels: only kernels, and never a wait."""

from __future__ import annotations

import torch
from torch import Tensor

from dshq_kernels.play import settle_cuda
from dshq_widget.gpu.cuda.games import CudaGames
from dshq_widget.gpu.rollout import Rollout
from dshq_widget.gpu.turns import Turns


class KernelTurns(Turns):
    """The same as three launches, five where scenes are practised: generated kernels around those of `settle_cuda`."""

    games: CudaGames

    def __init__(self, games: CudaGames, rollout: Rollout, rows: Tensor):
        super().__init__(games, rollout, rows)
        self._row_of = torch.full((len(self._after), games.n), -1, dtype=torch.int32, device=self.device)
        self._row_of.view(-1)[rows] = torch.arange(len(rows), dtype=torch.int32, device=self.device)
        self._place = torch.full_like(self._row_of, -1)
        status, last = self._status[:2], self.late.flatten(0, 1)
        potential, terminated, truncated = (
            flags.view(torch.uint8) for flags in (self._potential, rollout.terminated, rollout.truncated)
        )
        read = self._after, status, games.ticks, self.weights, potential, self.discounts, self._row_of
        updated = self._before, self._paid, self.running, self.finished, self.returns, self._late_count
        written = rollout.reward, terminated, truncated, self.late_slot, self.over, self._place
        self._played = tuple(map(games.array, (self._after, status)))
        self._settled = tuple(map(games.array, (*read, *updated, *written)))
        self._renewed = tuple(map(games.array, (self.over, self._place, last, self._before)))

    def take(self, t: int) -> None:
        games, game = self.games, self.games.game
        game.turn(games.numba_state, self.repeat, *self._played)
        game.launch(settle_cuda.settle, games.n, t, self.time_limit, self.repeat, len(self.late), *self._settled)
        game.renew(games.numba_state, *self._renewed)
        if self.scenes is not None:
            games.put(self.over, self._drawn[t], self._scene_share, self.scenes)
            if self._shaped:
                games.terms(self._before)
