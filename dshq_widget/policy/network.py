"""The policy network as data: its shape, its flat weights, and acting with it in plain numpy.

Layout of the flat weights (docs/architecture.md, "Policy"): per layer W `[n_in, n_out]` row-major, then b `[n_out]`,
float32 little-endian. The last output is the value.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dshq_kernels.network.layers import (
    GATES,
    Front,
    Grid,
    Pairs,
    Places,
    Weights,
    is_network,
    judge_pairs,
    look_ahead,
    mean_traits,
    memory_of,
    parse,
    shapes,
)
from dshq_kernels.network.mlp import FORBIDDEN
from dshq_kernels.network.places import judge_places, read_places
from dshq_widget.contract import protocol
from dshq_widget.contract.game_spec import GameSpec
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.policy import convolutions

ACTIVATIONS = ("tanh", "relu")
HIDDEN_GAIN, POLICY_GAIN, VALUE_GAIN = 2.0**0.5, 0.01, 1.0
"""Orthogonal initialisation's gains: Huang et al., "The 37 Implementation Details of PPO", 2022, detail 2."""

CONTEXT_GAIN = 1.0
"""Gain of the dense layers' output to pairs: not logits, but a part of a sum that is weighted later."""

MEMORY_GAIN = 1.0
"""Gain of a memory's initial weights, those of its inputs and of its own outputs apart (the same source, detail 32)."""

GRID_DEVIATION = 0.3
"""Gain of a grid's initial weights (measured: docs/LOG.md)."""


@dataclasses.dataclass(frozen=True)
class PolicySpec:
    """The shape of a network: `layers = (n_obs, hidden..., n_actions + 1)` and the activation between them. Negative
    numbers before the hidden sizes are what stands in front of them, one behind them is a memory
    (dshq_kernels/network/layers.py). It stands behind them because what they find is what is worth keeping, as in the
    agents that Huang et al., 2022, describe.

    A `separate` value network is the second half of every hidden layer, the policy's the first; the weights between the
    halves are zero and stay zero. For playing it is a network like any other. `pixels` (channels, height, width), where
    there are any, are read by a convolutional trunk (convolutions.py), whose features are the n_obs; its weights stand
    behind those of the layers.
    """

    layers: tuple[int, ...]
    activation: str = "tanh"
    separate: bool = False
    pixels: convolutions.Pixels = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "layers", tuple(int(n) for n in self.layers))
        if not is_network(self.layers) or self.layers[-1] < 2:
            raise ValueError(
                "a policy needs inputs, at least one action and a value: layers like (28, 64, 64, 31); "
                f"got {self.layers}"
            )
        if self.activation not in ACTIVATIONS:
            raise ValueError(f"unknown activation {self.activation!r}: choose from {', '.join(ACTIVATIONS)}")
        if self.separate and (self.front or any(n % 2 for n in self.layers[1:-1])):
            raise ValueError(
                "two networks side by side need hidden layers of even width, no grid, no pairs and no places in front; "
                f"got {self.layers}"
            )
        if self.separate and self.memory:
            raise ValueError(
                "policy and value share one memory: set separate_value_net to false or memory to 0; got layers "
                f"{self.layers}"
            )

    @classmethod
    def for_drill(
        cls,
        spec: GameSpec,
        hidden_sizes: Sequence[int],
        activation: str = "tanh",
        separate: bool = False,
        memory: int = 0,
    ) -> PolicySpec:
        """The network that plays a compiled drill; `separate` doubles the hidden layers, `memory` units remember."""
        front = spec.front
        if memory and front:
            raise ValueError(f"a memory stands behind dense layers only, and {spec.name!r} has others: set memory to 0")
        hidden = [*(size * (1 + separate) for size in hidden_sizes), *([-memory] if memory else [])]
        layers = (spec.n_obs, *front, *hidden, spec.n_actions + 1)
        return cls(layers, activation, separate, tuple(spec.pixels))

    @classmethod
    def for_config(cls, spec: GameSpec, config: TrainConfig) -> PolicySpec:
        """The network of these settings."""
        return cls.for_drill(spec, config.hidden_sizes, config.activation, config.separate_value_net, config.memory)

    @property
    def front(self) -> Front | None:
        """The layer in front of the dense layers, or None."""
        return parse(self.layers)[0]

    @property
    def memory(self) -> int:
        """Units of the memory; 0 without one. Its state has twice as many numbers."""
        return memory_of(self.layers)

    @property
    def n_actions(self) -> int:
        return self.layers[-1] - 1

    @property
    def floats(self) -> int:
        """Length of the flat weights."""
        return protocol.blob_floats(self.layers) + convolutions.floats(self.pixels)

    @property
    def shape_hash(self) -> str:
        """Identifies the layout; two policies are interchangeable only if it is equal."""
        return protocol.shape_hash(self.layers, self.activation)

    def split(self, weights: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """(W, b) views of each layer in flat weights, those in front first; raises ValueError for another length."""
        if weights.shape != (self.floats,):
            raise ValueError(
                f"a network of layers {list(self.layers)} has {self.floats} weights in one row; "
                f"got shape {weights.shape}"
            )
        parts, at = [], 0
        for n_in, n_out in shapes(self.layers):
            middle, end = at + n_in * n_out, at + n_in * n_out + n_out
            parts.append((weights[at:middle].reshape(n_in, n_out), weights[middle:end]))
            at = end
        return parts

    def networks(self, weights: np.ndarray) -> list[list[np.ndarray]]:
        """Views of the matrices of each network in flat weights: one, or the policy's and the value's."""
        matrices = [matrix for matrix, _ in self.split(weights)]
        if not self.separate:
            return [matrices]
        policy, value = [], []
        for k, matrix in enumerate(matrices):
            row = matrix.shape[0] // 2 if k > 0 else 0
            column = matrix.shape[1] // 2 if k < len(matrices) - 1 else self.n_actions
            policy.append(matrix[: row or None, :column])
            value.append(matrix[row:, column:])
        return [policy, value]

    def trunk(self, weights: np.ndarray) -> np.ndarray:
        """A view of the trunk's flat weights; empty without pixels."""
        return weights[protocol.blob_floats(self.layers) :]

    def mask(self) -> np.ndarray:
        """f32 `[floats]`: 1 for weights that learn, 0 for those between separate networks."""
        mask = np.zeros(self.floats, np.float32)
        self.trunk(mask)[:] = 1
        for _, bias in self.split(mask):
            bias[:] = 1
        for network in self.networks(mask):
            for matrix in network:
                matrix[:] = 1
        return mask

    def fits(self, weights: np.ndarray) -> bool:
        """Whether flat weights fit this network: the right length, and zero between separate networks."""
        return weights.shape == (self.floats,) and not (self.separate and weights[self.mask() == 0].any())

    def initial(self, rng: np.random.Generator) -> np.ndarray:
        """Fresh flat weights: orthogonal, biases zero."""
        weights = np.zeros(self.floats, np.float32)
        networks = self.networks(weights)
        for network in networks:
            for matrix in network[:-1]:
                matrix[:] = _orthogonal(rng, matrix.shape) * HIDDEN_GAIN
        parts, front = self.split(weights), self.front
        if self.memory:
            matrix, _ = parts[-2]
            for rows in (matrix[: -self.memory], matrix[-self.memory :]):
                rows[:] = _orthogonal(rng, (len(rows), GATES * self.memory)) * MEMORY_GAIN
        if isinstance(front, Grid):
            for part in parts[0]:
                part[:] = rng.standard_normal(part.shape) * GRID_DEVIATION
        elif front:
            weigh, _ = parts[len(front.shapes) - 1]
            weigh[:] = _orthogonal(rng, weigh.shape) * POLICY_GAIN
        for matrix, _ in convolutions.split(self.trunk(weights), self.pixels) if self.pixels else []:
            matrix[:] = (_orthogonal(rng, (len(matrix), matrix[0].size)) * HIDDEN_GAIN).reshape(matrix.shape)
        head, value = networks[0][-1][:, : self.n_actions], networks[-1][-1][:, -1:]
        head[:] = _orthogonal(rng, head.shape) * (CONTEXT_GAIN if isinstance(front, Pairs) else POLICY_GAIN)
        value[:] = _orthogonal(rng, value.shape) * VALUE_GAIN
        return weights

    def untrained(self, seed: int) -> np.ndarray:
        """Fresh flat weights from a seed: version 0 of a training."""
        return self.initial(np.random.default_rng([seed, 0x1417]))


def _orthogonal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Orthonormal columns (or rows, where there are more columns). Saxe et al., 2014: QR of a Gaussian, signs made
    unique."""
    tall = (max(shape), min(shape))
    q, r = np.linalg.qr(rng.standard_normal(tall))
    q = q * np.where(np.diag(r) < 0, -1.0, 1.0)
    return q if shape == tall else q.T


def initial_weights(layers: Sequence[int], seed: int, separate: bool = False) -> np.ndarray:
    """Fresh flat weights from a seed."""
    return PolicySpec(tuple(layers), separate=separate).untrained(seed)


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
        seen = np.asarray(obs, np.float32)
        if seen.shape[-1:] != (self.spec.layers[0],):
            raise ValueError(f"this policy reads {self.spec.layers[0]} observations; got shape {seen.shape}")
        front = self.spec.front
        count = len(front.shapes) if front else 0
        own, parts = self._parts[:count], self._parts[count:]
        x = self._in_front(own, seen)
        for matrix, bias in parts[:-1]:
            x = x @ matrix + bias
            x = np.tanh(x) if self.spec.activation == "tanh" else np.maximum(x, np.float32(0))
        matrix, bias = parts[-1]
        x = x @ matrix + bias
        said, value = x[..., :-1], x[..., -1]
        if isinstance(front, Pairs):
            return judge_pairs(front, own, seen, said), value
        return (judge_places(front, own, seen, said) if isinstance(front, Places) else said), value

    def _in_front(self, own: Sequence[Weights], seen: np.ndarray) -> np.ndarray:
        """What the first dense layer reads, by the weights of what stands in front of it."""
        front = self.spec.front
        if isinstance(front, Grid):
            return look_ahead(front, *own[0], seen)
        if isinstance(front, Pairs):
            return mean_traits(front, own, seen)
        return read_places(front, own, seen) if front else seen

    def logits(self, obs: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """f32 `[..., n_actions]`, `FORBIDDEN` where `mask`, of the same shape and true for what is allowed, says so."""
        logits, _ = self.forward(obs)
        return logits if mask is None else np.where(np.asarray(mask, bool), logits, np.float32(FORBIDDEN))

    def probabilities(self, obs: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
        """Probability of each action, f32 `[..., n_actions]`, exactly 0 for what `mask` forbids."""
        logits = self.logits(obs, mask)
        weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    def act(
        self,
        obs: np.ndarray,
        rng: np.random.Generator | None = None,
        greedy: bool = False,
        mask: np.ndarray | None = None,
    ) -> np.ndarray:
        """Action indices i64 `[...]`: drawn with `rng` (else a generator of its own), or the likeliest if `greedy`;
        `mask` is what `infos["action_mask"]` of an environment says.
        """
        if greedy:
            return self.logits(obs, mask).argmax(axis=-1)
        cumulated = self.probabilities(obs, mask).cumsum(axis=-1)
        draw = (rng or self._rng).random(cumulated.shape[:-1], np.float32)[..., None] * cumulated[..., -1:]
        return np.minimum((cumulated <= draw).sum(axis=-1), self.spec.n_actions - 1)
