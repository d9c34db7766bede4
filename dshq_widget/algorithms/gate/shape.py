"""Sizes of the map and of the policy; free of numba, because the registry reads them."""

from __future__ import annotations

COLUMNS = ROWS = 20
CHUNKS = COLUMNS * ROWS
N_FEATURES = 28
PLACES, OF_PLACE = 5, 5
"""Chunks among the features, and numbers that say one: which it is, then what is there."""
FIRST, SECOND, CHUNK_HIDDEN = 32, 16, 32
SIGNED = 4
"""Extra units of the source's third layer: type logit and value, each as its positive and its negative part."""
TRAITS, REACHES, KINDS = 32, 12, 3
FRONT = tuple(-n for n in (ROWS, COLUMNS, PLACES, OF_PLACE, TRAITS, REACHES, KINDS))
"""The layer that takes places apart (dshq_kernels/network/places.py); kinds are to wait, energy and combat."""
NETWORKS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "places": (FRONT, (FIRST, SECOND)),
    "source": ((), (FIRST, SECOND, CHUNK_HIDDEN + SIGNED)),
}
"""What stands in front of the dense layers and the hidden sizes, by the names of the setting `network`."""
LAYERS = {name: (N_FEATURES, *front, *hidden, KINDS * CHUNKS + 1) for name, (front, hidden) in NETWORKS.items()}
ACTIVATION = "relu"
WORKERS, PROTECTORS = 8, 3
"""Units that are stored with a decision: the most that a drill may have."""
FIELDS = ("worker_chunk", "protector_chunk", "queen_energy", "player_energy", "spawned_at")
"""Fields of the drill's state that the gate reads (observation.py)."""
