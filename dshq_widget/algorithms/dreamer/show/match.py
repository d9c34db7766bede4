"""A match of the page, played here a little ahead (env/ahead.py), as a world model sees it: frame by frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from dshq_kernels.play import raster
from dshq_widget.algorithms.dreamer.actor import Choose
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env import ahead
from dshq_widget.env.ahead import Decision


class Match(ahead.Match):
    """See `ahead.Match`."""

    def __init__(self, drill: CompiledDrill, start: Mapping[str, Any], keep: int = 1) -> None:
        super().__init__(drill, start, keep)
        self.frame = torch.empty((1, 1, raster.HEIGHT, raster.ROW_BYTES), dtype=torch.uint8)
        """What the policy saw last."""
        self._tones, self._view = raster.shades(drill.spec), raster.view(drill.spec.world)

    def decide(self, choose: Choose) -> Decision:
        """Play one decision, and into the next game if this one ends."""

        def chosen() -> int:
            raster.draw_into(self.frame.numpy(), self.batch.game, self.batch.tiles, self._tones, self._view)
            return int(choose(self.frame, torch.tensor([self.first])))

        return self.play(chosen)
