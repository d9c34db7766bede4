"""Decisions of the gate, made up: what the policy saw, and what was stored."""

import numpy as np

from dshq_widget.algorithms.gate import components as parts
from dshq_widget.algorithms.gate.experience import Experience


def features(rng: np.random.Generator, n: int) -> np.ndarray:
    """Features as the drill has them: five places or fewer, each a chunk and what is there; then energies."""
    x = rng.random((n, 28)).astype(np.float32)
    x[:, 0:25:5] = (rng.integers(0, 400, (n, 5)) / 399).astype(np.float32)
    x[:, :25].reshape(n, 5, 5)[rng.random((n, 5)) < 0.2] = 0
    return x


def experience(**changes) -> Experience:
    """A proposal that was sent and is pending, but for `changes`."""
    values = {
        "observation": np.full(28, 0.5, np.float32),
        "spawn_chunk": 7,
        "spawn_type": "energy",
        "nn_confidence": 0.01,
        "gate_signal": 0.25,
        "R_expected": 0.85,
        "gate_components": dict.fromkeys(parts.NAMES, 0.5),
        "was_executed": True,
        "timestamp": 0.0,
        "workers": [7, 30],
        "protectors": [200],
        "queen_energy": 60.0,
    }
    return Experience(**(values | changes))
