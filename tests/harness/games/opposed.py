"""Weights of nobody in particular, and games that are told to play against them."""

import numpy as np

from dshq_widget.policy.network import PolicySpec


def weights(spec: PolicySpec, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.5, spec.floats).astype(np.float32)


class Opposed:
    """A source that keeps what it is to play against, and how often it was told."""

    def __init__(self, parts: int = 1) -> None:
        self.policies: list[np.ndarray] = []
        self.parts, self.told = parts, 0

    def set_opponents(self, policies: list[np.ndarray]) -> None:
        self.policies, self.told = policies, self.told + 1
