"""Draws every game on the device, directly into a slot of the replay ring."""

from __future__ import annotations

import torch
from torch import Tensor

from dshq_kernels.play import raster, raster_cuda
from dshq_widget.gpu.cuda.games import CudaGames


class Painter:
    """Draws `games` as side 0 sees them; shapes pass through memory of its own."""

    def __init__(self, games: CudaGames):
        spec, device = games.drill.spec, games.device
        self.games = games
        self._tones = torch.from_numpy(raster.shades(spec)).to(device)
        self._view = torch.from_numpy(raster.view(spec.world)).to(device)
        self._shapes = torch.zeros((spec.scene_max, 12, games.n), device=device)
        self._counts = torch.zeros(games.n, dtype=torch.int32, device=device)

    def draw(self, out: Tensor) -> None:
        """u8 `[n, 1, 72, 20]`, four pixels to a byte, on torch's current stream."""
        self.games.follow()
        room = map(self.games.array, (self._tones, self._view, self._shapes, self._counts))
        raster_cuda.render_into(self.games.array(out), self.games.game, self.games.numba_state, *room)
