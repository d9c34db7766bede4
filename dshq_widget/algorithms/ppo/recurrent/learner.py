"""PPO in torch for networks with a memory: minibatches of whole sequences, whose states are rebuilt."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.ppo.learners import learner
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.torch_ppo import TorchPPO


class Sequences(Protocol):
    """Samples of sequences; unit `tile * length + t` is decision t of sixteen games."""

    advantage: np.ndarray
    """f32 `[units, 16]`."""

    @property
    def length(self) -> int:
        """Decisions of a sequence."""
        ...


class Seen(NamedTuple):
    """What the network reads to learn from the sequences of n tiles."""

    obs: torch.Tensor
    """f32 `[n T 16, n_obs]`: tile after tile, in it decision after decision."""
    begins: torch.Tensor
    """f32 `[n, T, 16]`."""
    state: torch.Tensor
    """f32 `[n, 16, 2 memory]`."""


class RecurrentPPO(TorchPPO):
    """See `learners.Learner`. The state stored at a rollout's beginning is where every epoch starts from; all later
    ones are computed again with the present weights, and an episode's end empties them (Huang et al., 2022, details 34
    to 36).
    """

    def outputs(self, obs: Any, weights: torch.Tensor | None = None) -> torch.Tensor:
        """See `TorchPPO.outputs`; `obs` is `Seen`."""
        seen: Seen = obs
        *_, (matrix, bias), (head, head_bias) = self._parts(self.weights if weights is None else weights)
        x, units = self.hidden(seen.obs, weights), self.spec.memory
        tiles, length, _ = seen.begins.shape
        gates = by_step(torch.addmm(bias, x, matrix[:-units]), tiles, length)
        going = 1 - seen.begins.transpose(0, 1).reshape(length, -1, 1)
        found = remember(gates, matrix[-units:], seen.state.flatten(0, 1), going)
        found = found.view(length, tiles, LANES, units).transpose(0, 1).reshape(-1, units)
        return torch.addmm(head_bias, found, head)

    def hidden(self, obs: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
        """What the memory reads, `[N, k]`, of observations `[N, n_obs]`."""
        activation = torch.tanh if self.spec.activation == "tanh" else torch.relu
        x = obs
        for layer, add in self._parts(self.weights if weights is None else weights)[:-2]:
            x = activation(torch.addmm(add, x, layer))
        return x

    def _drawn(self, samples: Sequences, units: np.ndarray, hyper: Hyper) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `learner.plan_minibatches`: whole sequences of sixteen games are drawn, never single steps."""
        length = samples.length
        whole = dataclasses.replace(hyper, minibatch_size=max(LANES, hyper.minibatch_size // length))
        tiles = np.unique(units // length)
        order, importance, bounds = learner.plan_minibatches(
            self._draws, tiles, samples.advantage.reshape(-1, length * LANES), whole
        )
        steps = order[:, None] * length + np.arange(length)
        return steps.ravel(), importance.repeat(length), bounds * length

    def _batch(
        self, fields: dict[str, torch.Tensor], units: torch.Tensor, importance: torch.Tensor, mean: float, scale: float
    ) -> dict[str, Any]:
        batch: dict[str, Any] = super()._batch(fields, units, importance, mean, scale)
        length = len(fields["action"]) // len(fields["states"])
        tiles = units[::length] // length
        begins = fields["begins"].view(-1, length, LANES)[tiles]
        return batch | {"obs": Seen(batch["obs"], begins, fields["states"][tiles])}


def by_step(rows: torch.Tensor, tiles: int, length: int) -> torch.Tensor:
    """`[tiles T 16, k]` -> `[T, tiles 16, k]`."""
    return rows.view(tiles, length, LANES, -1).transpose(0, 1).reshape(length, tiles * LANES, -1)


def remember(gates: torch.Tensor, matrix: torch.Tensor, state: torch.Tensor, going: torch.Tensor) -> torch.Tensor:
    """What the memory gives at each decision, `[T, N, memory]` (dshq_kernels/network/layers.py).

    `gates` `[T, N, 4 memory]` is what its inputs and biases give, `matrix` `[memory, 4 memory]` the weights of its own
    outputs, `state` `[N, 2 memory]` that before the first decision, `going` `[T, N, 1]` 0 where an episode begins.
    """
    h, c = state.chunk(2, -1)
    found = []
    for given, goes in zip(gates, going, strict=True):
        h, c = step(torch.addmm(given, h * goes, matrix), c * goes)
        found.append(h)
    return torch.stack(found)


def step(gates: torch.Tensor, c: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The next state h, c `[N, memory]` from the gates `[N, 4 memory]` before they are squashed."""
    i, f, g, o = gates.chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c
