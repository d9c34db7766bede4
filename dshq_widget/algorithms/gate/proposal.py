"""What the policy proposes: a chunk and a type, each drawn from its head."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dshq_widget.algorithms.gate import components as parts
from dshq_widget.algorithms.gate.losses import Heads
from dshq_widget.algorithms.gate.network import GateNetwork
from dshq_widget.algorithms.gate.shape import CHUNKS


class Proposal(NamedTuple):
    """One proposal."""

    chunk: int
    """0..399."""
    kind: str
    """energy or combat."""
    confidence: float
    """Probability of chunk times type."""

    @property
    def action(self) -> int:
        """The drill's action that carries it out: type * 400 + chunk."""
        return (parts.TYPES.index(self.kind) + 1) * CHUNKS + self.chunk


WAIT = 0
"""The drill's action that spawns nothing."""


def propose(network: GateNetwork, features: np.ndarray, rng: np.random.Generator | None = None) -> list[Proposal]:
    """One proposal per row of features f32 `[n, 28]`: drawn with `rng`, or without it the likeliest. Raises ValueError
    for features that are not finite.
    """
    if not np.isfinite(features).all():
        raise ValueError("the observation is not finite: the policy needs 28 features from 0 to 1")
    chunk_logits, type_logits, _, _ = network.forward(np.asarray(features, np.float32))
    heads = Heads.of(chunk_logits, type_logits)
    chunks, combat = heads.chunk, heads.combat
    n = len(chunks)
    if rng is None:
        chosen, fights = chunks.argmax(axis=1), combat >= 0.5
    else:
        cumulated = chunks.cumsum(axis=1)
        chosen = (cumulated <= rng.random((n, 1)) * cumulated[:, -1:]).sum(axis=1).clip(max=CHUNKS - 1)
        fights = rng.random(n) < combat
    of_type = np.where(fights, combat, 1 - combat)
    sure = chunks[np.arange(n), chosen] * of_type
    return [Proposal(int(chosen[k]), parts.TYPES[int(fights[k])], float(sure[k])) for k in range(n)]
