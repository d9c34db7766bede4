"""A policy: a network with its weights, acting in plain numpy, and as a module of PyTorch."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dshq_kernels.network.layers import Grid, Pairs, Places, Weights, judge_pairs, look_ahead, mean_traits
from dshq_kernels.network.mlp import FORBIDDEN
from dshq_kernels.network.places import judge_places, read_places
from dshq_widget.contract.setting import parse_value
from dshq_widget.contract.settings import FIELDS
from dshq_widget.contract.torch_needed import need_torch
from dshq_widget.policy.network import PolicySpec

if TYPE_CHECKING:
    from dshq_widget.policy.torch_module import PolicyModule

SEPARATE = "separate_value_net"
"""The setting that says whether a network is two side by side."""


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

    def to_torch(self) -> PolicyModule:
        """A module of PyTorch that computes the same (torch_module.py): logits and values of observations. Raises
        MissingTorch, and ValueError for weights that are not of the network that `metadata` declares.
        """
        need_torch("Policy.to_torch")
        from dshq_widget.policy.torch_module import PolicyModule

        return PolicyModule(self.declared, self.weights)

    @property
    def declared(self) -> PolicySpec:
        """The network as the settings in `metadata` say it is: of `separate_value_net`, two side by side. Raises
        ValueError where the layers cannot be that.
        """
        own = self.metadata.get("config", {}).get(SEPARATE, False)
        return dataclasses.replace(self.spec, separate=parse_value(SEPARATE, own, FIELDS[SEPARATE]))

    def with_torch(self, state: Mapping[str, Any]) -> Self:
        """The same policy with other weights, from a state dict with the names and shapes of `to_torch()`. Raises
        ValueError for any other, and MissingTorch.
        """
        need_torch("Policy.with_torch")
        from dshq_widget.policy.torch_module import from_state

        return self.with_weights(from_state(self.declared, state))

    @classmethod
    def from_torch(
        cls,
        state: Mapping[str, Any],
        critic: Mapping[str, Any] | None = None,
        *,
        activation: str = "tanh",
        metadata: Mapping[str, Any] | None = None,
    ) -> Policy:
        """A policy of linear layers that were made elsewhere: `state` is a state dict of them alone, in order, whatever
        their names, with `activation` after each but the last. The last one gives the logit of each action and then
        the value; or the logits only, where `critic` is the state dict of a value network with the same hidden layers.
        `metadata` says what it plays (`{"drill": "ball"}`). Raises ValueError for other layers, and MissingTorch.
        """
        need_torch("Policy.from_torch")
        from dshq_widget.policy.torch_module import dense_layers, halved, joined, side_by_side

        apart = critic is not None
        if critic is None:
            spec, weights = joined(dense_layers(state), activation)
        else:
            spec, weights = side_by_side(state, critic, activation)
        said = dict(metadata or {})
        config = dict(said.get("config", {}))
        if apart or config.get(SEPARATE):
            said["config"] = config | {SEPARATE: apart or halved(spec, weights)}
        return Policy(spec.layers, activation, weights, said)

    def with_weights(self, weights: np.ndarray) -> Self:
        """The same policy with other flat weights f32 `[spec.floats]`."""
        return type(self)(self.spec.layers, self.spec.activation, weights, self.metadata)
