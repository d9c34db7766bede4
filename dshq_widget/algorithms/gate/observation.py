"""What the gate reads of a Territory Drill's state."""

from __future__ import annotations

from typing import Any

import numpy as np

from dshq_widget.algorithms.gate.shape import CHUNKS


def observe(tile: Any, lane: int) -> dict[str, Any]:
    """The observation of one game: `workers` and `protectors` (chunks i64, -1: dead), `queen_energy`, `player_energy`,
    `seconds` since the episode began, `seconds_since_spawn` f64 `[400]` (of a chunk without one: since the beginning).
    `tile` is one record of tiles (numpy), with fields `[n, 16]` or `[16]`.
    """
    seconds = float(tile["ticks"][lane])
    return {
        "workers": tile["worker_chunk"][:, lane].astype(np.int64),
        "protectors": tile["protector_chunk"][:, lane].astype(np.int64),
        "queen_energy": float(tile["queen_energy"][lane]),
        "player_energy": float(tile["player_energy"][lane]),
        "seconds": seconds,
        "seconds_since_spawn": (seconds - tile["spawned_at"][:CHUNKS, lane]).astype(np.float64),
    }
