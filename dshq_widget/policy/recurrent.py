"""Acting with a network that has a memory, in numpy; dshq_kernels/network/layers.py defines it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.policy import Policy


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.float32(0.5) * np.tanh(np.float32(0.5) * x) + np.float32(0.5)


class RecurrentNetwork:
    """A network with a memory and its flat weights, f32 `[floats]`; it keeps no state itself."""

    def __init__(self, spec: PolicySpec, weights: np.ndarray) -> None:
        self.spec = spec
        self._parts = spec.split(np.asarray(weights, np.float32))

    def fresh(self, *rows: int) -> np.ndarray:
        """The state of memories at the beginning of an episode, f32 `[*rows, 2 memory]`: zeros."""
        return np.zeros((*rows, 2 * self.spec.memory), np.float32)

    def step(self, obs: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Logits f32 `[..., n_actions]`, values f32 `[...]` and the next state, of observations f32 `[..., n_obs]` and
        the state f32 `[..., 2 memory]` before them.
        """
        *dense, (matrix, bias), (head, head_bias) = self._parts
        x, n = obs, self.spec.memory
        for weights, add in dense:
            x = x @ weights + add
            x = np.tanh(x) if self.spec.activation == "tanh" else np.maximum(x, np.float32(0))
        h, c = state[..., :n], state[..., n:]
        i, f, g, o = np.split(x @ matrix[:-n] + h @ matrix[-n:] + bias, 4, axis=-1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        h = _sigmoid(o) * np.tanh(c)
        out = h @ head + head_bias
        return out[..., :-1], out[..., -1], np.concatenate([h, c], axis=-1)


class RecurrentPolicy(Policy):
    """A policy that remembers. Each row of observations has a memory, which every call of `forward`, `logits`,
    `probabilities` or `act` advances by one decision; call `forget` where an episode ends.
    """

    def __init__(
        self, layers: Sequence[int], activation: str, weights: np.ndarray, metadata: Mapping[str, Any] | None = None
    ):
        super().__init__(layers, activation, weights, metadata)
        self.network = RecurrentNetwork(self.spec, self.weights)
        self.state = self.network.fresh()
        """f32 `[..., 2 memory]`, one row for each row of the last observations."""

    def forward(self, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `Policy.forward`; other rows than in the call before begin with fresh memories."""
        x = np.asarray(obs, np.float32)
        if x.shape[-1:] != (self.spec.layers[0],):
            raise ValueError(f"this policy reads {self.spec.layers[0]} observations; got shape {x.shape}")
        if self.state.shape[:-1] != x.shape[:-1]:
            self.state = self.network.fresh(*x.shape[:-1])
        logits, values, self.state = self.network.step(x, self.state)
        return logits, values

    def forget(self, over: np.ndarray | None = None) -> None:
        """Fresh memories where `over`, bool `[...]`, is true; everywhere without it."""
        self.state[... if over is None else np.asarray(over, bool)] = 0
