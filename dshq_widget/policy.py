"""The policy network as data: its shape, its flat weights, and acting with it in plain numpy.

Layout of the flat weights (docs/architecture.md, "Policy"): per layer W `[n_in, n_out]` row-major, then b `[n_out]`,
float32 little-endian. The last output is the value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dshq_widget import protocol

ACTIVATIONS = ("tanh", "relu")
HIDDEN_GAIN, POLICY_GAIN, VALUE_GAIN = 2.0**0.5, 0.01, 1.0
"""Orthogonal initialisation's gains: Huang et al., "The 37 Implementation Details of PPO", 2022, detail 2."""


@dataclasses.dataclass(frozen=True)
class PolicySpec:
    """The shape of a network: `layers = (n_obs, hidden..., n_actions + 1)` and the activation between them."""

    layers: tuple[int, ...]
    activation: str = "tanh"

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(int(n) for n in self.layers))
        if len(self.layers) < 2 or min(self.layers) < 1 or self.layers[-1] < 2:
            raise ValueError(
                "a policy needs inputs, at least one action and a value: layers like (28, 64, 64, 31); "
                f"got {self.layers}"
            )
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"unknown activation {self.activation!r}: choose from {', '.join(ACTIVATIONS)}")

    @classmethod
    def for_drill(cls, spec: Mapping[str, Any], hidden_sizes: Sequence[int], activation: str = "tanh") -> PolicySpec:
        """The network that plays a compiled drill."""
        return cls((spec["n_obs"], *hidden_sizes, spec["n_actions"] + 1), activation)

    @property
    def n_actions(self) -> int:
        return self.layers[-1] - 1

    @property
    def floats(self) -> int:
        """Length of the flat weights."""
        return protocol.blob_floats(self.layers)

    @property
    def shape_hash(self) -> str:
        """Names the layout; two policies are interchangeable only where it is equal."""
        return protocol.shape_hash(self.layers, self.activation)

    def split(self, weights: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """(W, b) views of each layer of flat weights; raises ValueError for another length."""
        if weights.shape != (self.floats,):
            raise ValueError(
                f"a network of layers {list(self.layers)} has {self.floats} weights in one row; "
                f"got shape {weights.shape}"
            )
        parts, at = [], 0
        for n_in, n_out in zip(self.layers, self.layers[1:], strict=False):
            middle, end = at + n_in * n_out, at + n_in * n_out + n_out
            parts.append((weights[at:middle].reshape(n_in, n_out), weights[middle:end]))
            at = end
        return parts

    def initial(self, rng: np.random.Generator) -> np.ndarray:
        """Fresh flat weights: orthogonal, biases zero."""
        weights = np.zeros(self.floats, np.float32)
        parts = self.split(weights)
        for matrix, _ in parts[:-1]:
            matrix[:] = _orthogonal(rng, matrix.shape) * HIDDEN_GAIN
        last = parts[-1][0]
        last[:, :-1] = _orthogonal(rng, (last.shape[0], self.n_actions)) * POLICY_GAIN
        last[:, -1:] = _orthogonal(rng, (last.shape[0], 1)) * VALUE_GAIN
        return weights


def _orthogonal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Orthonormal columns (or rows, where there are more columns). Saxe et al., 2014: QR of a Gaussian, signs made
    unique."""
    tall = (max(shape), min(shape))
    q, r = np.linalg.qr(rng.standard_normal(tall))
    q = q * np.where(np.diag(r) < 0, -1.0, 1.0)
    return q if shape == tall else q.T


def initial_weights(layers: Sequence[int], seed: int) -> np.ndarray:
    """Fresh flat weights from a seed."""
    return PolicySpec(tuple(layers)).initial(np.random.default_rng([seed, 0x1417]))


class Policy:
    """A network with its weights, ready to act; `metadata` says where it comes from."""

    def __init__(
        self, layers: Sequence[int], activation: str, weights: np.ndarray, metadata: Mapping[str, Any] | None = None
    ):
        self.spec = PolicySpec(tuple(layers), activation)
        self.weights = np.asarray(weights, np.float32)
        self.metadata = dict(metadata or {})
        self._parts = self.spec.split(self.weights)
        self._rng = np.random.default_rng(0)

    def forward(self, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Logits f32 `[..., n_actions]` and values f32 `[...]` of observations f32 `[..., n_obs]`."""
        x = np.asarray(obs, np.float32)
        if x.shape[-1:] != (self.spec.layers[0],):
            raise ValueError(f"this policy reads {self.spec.layers[0]} observations; got shape {x.shape}")
        for matrix, bias in self._parts[:-1]:
            x = x @ matrix + bias
            x = np.tanh(x) if self.spec.activation == "tanh" else np.maximum(x, np.float32(0))
        matrix, bias = self._parts[-1]
        x = x @ matrix + bias
        return x[..., :-1], x[..., -1]

    def probabilities(self, obs: np.ndarray) -> np.ndarray:
        """Probability of each action, f32 `[..., n_actions]`."""
        logits, _ = self.forward(obs)
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    def act(self, obs: np.ndarray, rng: np.random.Generator | None = None, greedy: bool = False) -> np.ndarray:
        """Action indices i64 `[...]`: drawn with `rng` (or the policy's own generator), or the likeliest if `greedy`."""
        if greedy:
            return self.forward(obs)[0].argmax(axis=-1)
        cumulated = self.probabilities(obs).cumsum(axis=-1)
        draw = (rng or self._rng).random(cumulated.shape[:-1], np.float32)[..., None] * cumulated[..., -1:]
        return np.minimum((cumulated <= draw).sum(axis=-1), self.spec.n_actions - 1)
