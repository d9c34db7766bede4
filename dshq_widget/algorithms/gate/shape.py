"""Sizes of the map and of the policy; free of numba, because the registry reads them."""

from __future__ import annotations

COLUMNS = ROWS = 20
CHUNKS = COLUMNS * ROWS
N_FEATURES = 28
FIRST, SECOND, CHUNK_HIDDEN = 32, 16, 32
SIGNED = 4
"""Extra units of the third layer: type logit and value, each as its positive and its negative part."""
HIDDEN_SIZES = (FIRST, SECOND, CHUNK_HIDDEN + SIGNED)
LAYERS = (N_FEATURES, *HIDDEN_SIZES, 3 * CHUNKS + 1)
ACTIVATION = "relu"
FIELDS = ("worker_chunk", "protector_chunk", "queen_energy", "player_energy", "spawned_at")
"""Fields of the drill's state that the gate reads (observation.py)."""
