"""The dual variables of SPO: the temperature of a search's weights, and alpha, the weight of the trust region."""

from __future__ import annotations

import math

import numpy as np

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-5
"""Of Adam; epsilon as in Stoix's `ff_spo.py`."""
LEAST = -18.0
"""Smallest value of the number behind a dual variable; the same source."""
MAX_NORM = 0.5
"""Its gradient is clipped at that; the same source."""


def softplus(x: float) -> float:
    """log(1 + e^x), a little above 0."""
    return float(np.logaddexp(0.0, x)) + 1e-8


class Dual:
    """A positive number, softplus of another one that Adam moves."""

    def __init__(self, first: float) -> None:
        self.numbers = np.array([first, 0.0, 0.0, 0.0])  # the number, Adam's moments, its steps

    @property
    def value(self) -> float:
        return softplus(self.numbers[0])

    def step(self, slope: float, rate: float) -> None:
        """One step; `slope` is that of the loss by `value`."""
        x, m, v, steps = self.numbers
        slope *= 1.0 / (1.0 + math.exp(-x))  # softplus' own slope
        slope = float(np.clip(slope, -MAX_NORM, MAX_NORM))
        steps += 1
        m, v = BETA1 * m + (1 - BETA1) * slope, BETA2 * v + (1 - BETA2) * slope * slope
        x -= rate * (m / (1 - BETA1**steps)) / (math.sqrt(v / (1 - BETA2**steps)) + EPSILON)
        self.numbers[:] = max(x, LEAST), m, v, steps


def temperature_loss(totals: np.ndarray, temperature: float, epsilon: float) -> tuple[float, float]:
    """temperature (epsilon + mean log mean exp(G / temperature)) and its slope by the temperature.

    `totals`: G, f32 `[n, K, 16]`. The slope is epsilon - KL(softmax(G / temperature), uniform), on average.
    """
    scaled = totals.astype(np.float64) / temperature
    top = scaled.max(axis=1, keepdims=True)
    powers = np.exp(scaled - top)
    sums = powers.sum(axis=1)
    mean_log = np.log(sums / totals.shape[1]) + top[:, 0]
    expected = (powers * scaled).sum(axis=1) / sums
    slope = epsilon + float((mean_log - expected).mean())
    return temperature * (epsilon + float(mean_log.mean())), slope
