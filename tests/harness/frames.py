"""What side 0 of games sees."""

import numpy as np

from dshq_kernels.play import raster
from dshq_widget.drill.compiled import CompiledDrill


def frames(drill: CompiledDrill, tiles: np.ndarray) -> np.ndarray:
    """u8 `[n_games, 1, 72, 20]`, from `CpuGame` tiles."""
    out = np.empty((16 * len(tiles), 1, raster.HEIGHT, raster.ROW_BYTES), np.uint8)
    raster.draw_into(out, drill.game(), tiles, raster.shades(drill.spec), raster.view(drill.spec.world))
    return out
