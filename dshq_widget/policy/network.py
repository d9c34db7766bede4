"""The policy network as data: its shape and its flat weights.

Layout of the flat weights (docs/architecture.md, "Policy"): per layer W `[n_in, n_out]` row-major, then b `[n_out]`,
float32 little-endian. The last output is the value.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from dshq_kernels.network.layers import (
    GATES,
    Front,
    Grid,
    Pairs,
    is_network,
    memory_of,
    parse,
    shapes,
)
from dshq_widget.contract import protocol
from dshq_widget.contract.game_spec import GameSpec
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.policy import convolutions
from dshq_widget.policy.layout import Layout

ACTIVATIONS = ("tanh", "relu")
WEIGHTS = 0x1417
"""Of the generator of fresh weights, beside the seed."""
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
    halves are zero and stay zero. For playing it is a network like any other. `pictures`, channels, height and width of
    each, are read by convolutions, whose features are the first of the n_obs; numbers are the rest (layout.py).
    """

    layers: tuple[int, ...]
    activation: str = "tanh"
    separate: bool = False
    pictures: tuple[convolutions.Pixels, ...] = ()

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
        if self.pictures:
            Layout.of(self.layers[0], self.pictures)  # raises what is wrong with them

    @functools.cached_property
    def layout(self) -> Layout:
        """What is read of one observation."""
        return Layout.of(self.layers[0], self.pictures)

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
        return cls(layers, activation, separate, spec.pictures_read)

    @classmethod
    def for_config(cls, spec: GameSpec, config: TrainConfig) -> PolicySpec:
        """The network of these settings."""
        return cls.for_drill(spec, config.hidden_sizes, config.activation, config.separate_value_net, config.memory)

    @property
    def own(self) -> dict[str, Any]:
        """What a file says of a network of a person's own (own_network.py); empty for one of layers."""
        return {}

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
        return protocol.blob_floats(self.layers) + sum(map(convolutions.floats, self.pictures))

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

    def trunk(self, weights: Any) -> Any:
        """A view of the flat weights, an array or a tensor, of all convolutions; empty without pictures."""
        return weights[protocol.blob_floats(self.layers) :]

    def filters(self, weights: Any) -> list[tuple[Any, Any]]:
        """(W, b) views of each convolution in flat weights, an array or a tensor, picture after picture."""
        each = zip(self.layout.trunks(self.trunk(weights)), self.pictures, strict=True)
        return [part for trunk, pixels in each for part in convolutions.split(trunk, pixels)]

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
        return not self.misfit(weights)

    def misfit(self, weights: np.ndarray) -> str:
        """Why flat weights do not fit this network, as wanted and got; "" if they do."""
        if weights.shape != (self.floats,):
            return f"layers {list(self.layers)} want {self.floats:,} weights in one row, got shape {weights.shape}"
        between = weights[self.mask() == 0] if self.separate else weights[:0]
        if not between.any():
            return ""
        return (
            f"separate_value_net wants 0 for the {len(between):,} weights of layers {list(self.layers)} between the "
            f"policy's half and the value's, got {np.count_nonzero(between):,} other numbers"
        )

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
        for matrix, _ in self.filters(weights):
            matrix[:] = (_orthogonal(rng, (len(matrix), matrix[0].size)) * HIDDEN_GAIN).reshape(matrix.shape)
        head, value = networks[0][-1][:, : self.n_actions], networks[-1][-1][:, -1:]
        head[:] = _orthogonal(rng, head.shape) * (CONTEXT_GAIN if isinstance(front, Pairs) else POLICY_GAIN)
        value[:] = _orthogonal(rng, value.shape) * VALUE_GAIN
        return weights

    def untrained(self, seed: int) -> np.ndarray:
        """Fresh flat weights from a seed: version 0 of a training."""
        return self.initial(np.random.default_rng([seed, WEIGHTS]))


def _orthogonal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Orthonormal columns (or rows, where there are more columns). Saxe et al., 2014: QR of a Gaussian, signs made
    unique."""
    tall = (max(shape), min(shape))
    q, r = np.linalg.qr(rng.standard_normal(tall))
    q = q * np.where(np.diag(r) < 0, -1.0, 1.0)
    return q if shape == tall else q.T
