"""A policy as a module of PyTorch, and back: the same numbers, under the names that torch's own layers have.

Names and shapes of the state dict, in the order of the flat weights (docs/architecture.md, "Policy"):

    trunk.K.weight [out, in, k, k], trunk.K.bias [out]     convolutions, of one picture after the other
    front.K.weight [n_out, n_in],   front.K.bias [n_out]   layers in front, where the game has some
    hidden.K.weight [n_out, n_in],  hidden.K.bias [n_out]  hidden layers; tanh or relu follows each
    memory.weight_ih [4 n, n_in], memory.weight_hh [4 n, n], memory.bias_ih, memory.bias_hh [4 n]   an LSTM cell
    out.weight [n_actions + 1, n_in], out.bias             the logit of each action, then the value

The memory has one bias; a module has it in `bias_ih`, and `bias_hh` is zero.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from dshq_kernels.network.layers import Grid, Pairs, Places, shapes
from dshq_widget.policy import convolutions, torch_fronts
from dshq_widget.policy.network import PolicySpec
from dshq_widget.policy.torch_fronts import Layers

State = tuple[torch.Tensor, torch.Tensor]
"""`(h, c)` of a memory of n units, f32 `[N, n]` each."""


def activated(spec: PolicySpec, x: torch.Tensor) -> torch.Tensor:
    """What follows each hidden layer."""
    return torch.tanh(x) if spec.activation == "tanh" else torch.relu(x)


def outputs(spec: PolicySpec, parts: Layers, obs: torch.Tensor) -> torch.Tensor:
    """The logit of each action, then the value, `[N, n_actions + 1]`, of observations `[N, n_obs]`, by a network that
    has no memory. `parts`: W `[n_in, n_out]` and b `[n_out]` of each layer, those in front first.
    """
    front = spec.front
    first = len(front.shapes) if front else 0
    x = obs
    if isinstance(front, Grid):
        x = torch_fronts.look_ahead(front, *parts[0], obs)
    elif isinstance(front, Pairs):
        x = torch_fronts.mean_traits(front, parts, obs)
    elif isinstance(front, Places):
        x = torch_fronts.read_places(front, parts, obs)
    for matrix, bias in parts[first:-1]:
        x = activated(spec, torch.addmm(bias, x, matrix))
    matrix, bias = parts[-1]
    x = torch.addmm(bias, x, matrix)
    if isinstance(front, Pairs):
        return torch_fronts.judge_pairs(front, parts, obs, x)
    return torch_fronts.judge_places(front, parts, obs, x) if isinstance(front, Places) else x


class PolicyModule(nn.Module):
    """The network of `spec` with flat weights f32 `[spec.floats]`, ready for torch's optimisers and exporters.

    `forward` takes observations `[N, *shape]` as `spec.layout` has them: f32 `[N, n_obs]`, pictures uint8
    `[N, channels, height, width]`, or rows f32 of pictures and numbers. It gives logits f32 `[N, n_actions]` and values
    f32 `[N]`. With a memory it takes the state before them, too (zeros if it is left out), and gives the next one as a
    third result. Weights between separate networks count as 0, whatever an optimiser does, and get no gradient.

    Raises ValueError for weights that do not fit `spec`.
    """

    def __init__(self, spec: PolicySpec, weights: np.ndarray) -> None:
        super().__init__()
        if wrong := spec.misfit(weights):
            raise ValueError(f"{wrong}: set separate_value_net to false in metadata['config'], or zero them")
        self.spec = spec
        first, last = (len(spec.front.shapes) if spec.front else 0), -2 if spec.memory else -1
        sizes = shapes(spec.layers)
        self.trunk = nn.ModuleList(
            nn.Conv2d(n_in, n_out, k, stride)
            for pixels in spec.pictures
            for (n_out, n_in, k, _), (_, _, stride) in zip(
                convolutions.shapes(pixels), convolutions.layers(pixels), strict=True
            )
        )
        self.front = nn.ModuleList(nn.Linear(*size) for size in sizes[:first])
        self.hidden = nn.ModuleList(nn.Linear(*size) for size in sizes[first:last])
        self.memory = nn.LSTMCell(sizes[-2][0] - spec.memory, spec.memory) if spec.memory else None
        self.out = nn.Linear(*sizes[-1])
        self.load_state_dict(to_state(spec, weights))
        if spec.separate:
            for k, (matrix, _) in enumerate(spec.split(spec.mask())):
                self.register_buffer(f"learns_{k}", torch.from_numpy(matrix.copy()), persistent=False)

    def forward(self, obs: torch.Tensor, state: State | None = None) -> tuple[Any, ...]:
        """See the class; raises ValueError for a state where there is no memory."""
        x = obs
        if self.spec.pictures:
            x = torch_fronts.read(self.spec.layout, self._filters(), obs)
        if self.memory is not None:
            for layer in self.hidden:
                x = activated(self.spec, layer(x))
            state = self.memory(x, state)
            x = self.out(state[0])
            return x[:, :-1], x[:, -1], state
        if state is not None:
            raise ValueError("this policy has no memory: leave `state` out")
        layers: Any = [*self.front, *self.hidden, self.out]
        parts = [(layer.weight.t(), layer.bias) for layer in layers]
        if self.spec.separate:
            parts = [(matrix * self.get_buffer(f"learns_{k}"), bias) for k, (matrix, bias) in enumerate(parts)]
        x = outputs(self.spec, parts, x)
        return x[:, :-1], x[:, -1]

    def _filters(self) -> Layers:
        convolved: Any = self.trunk
        return [(one.weight, one.bias) for one in convolved]


def _names(spec: PolicySpec) -> list[str]:
    """The layers of `spec.split`, in its order."""
    first = len(spec.front.shapes) if spec.front else 0
    count = len(shapes(spec.layers)) - first - 1 - bool(spec.memory)
    fronts, hidden = [f"front.{k}" for k in range(first)], [f"hidden.{k}" for k in range(count)]
    return [*fronts, *hidden, *(["memory"] if spec.memory else []), "out"]


def to_state(spec: PolicySpec, weights: np.ndarray) -> dict[str, torch.Tensor]:
    """The state dict of flat weights f32 `[spec.floats]`: copies."""
    state: dict[str, np.ndarray] = {}
    for k, (matrix, bias) in enumerate(spec.filters(weights)):
        state |= {f"trunk.{k}.weight": matrix, f"trunk.{k}.bias": bias}
    for name, (matrix, bias) in zip(_names(spec), spec.split(weights), strict=True):
        if name == "memory":
            of_inputs, of_itself = matrix[: -spec.memory].T, matrix[-spec.memory :].T
            state |= {"memory.weight_ih": of_inputs, "memory.weight_hh": of_itself}
            state |= {"memory.bias_ih": bias, "memory.bias_hh": np.zeros_like(bias)}
        else:
            state |= {f"{name}.weight": matrix.T, f"{name}.bias": bias}
    return {name: torch.from_numpy(np.array(array, np.float32, order="C")) for name, array in state.items()}


def from_state(spec: PolicySpec, state: Mapping[str, Any]) -> np.ndarray:
    """Flat weights f32 `[spec.floats]` of a state dict as `to_state` writes it; values are tensors or arrays. Raises
    ValueError for names that lack or are unknown, other shapes, numbers that are not finite, and weights between
    separate networks.
    """
    given = {name: _array(name, value) for name, value in state.items()}
    weights = np.zeros(spec.floats, np.float32)
    wanted = {name: tuple(tensor.shape) for name, tensor in to_state(spec, weights).items()}
    found = {name: array.shape for name, array in given.items()}
    for name in [*wanted, *found]:
        if wanted.get(name) != found.get(name):
            raise ValueError(
                f"{name}: wanted {_said(wanted.get(name))}, got {_said(found.get(name))}. A network of layers "
                f"{list(spec.layers)} has {', '.join(f'{key} {list(shape)}' for key, shape in wanted.items())}"
            )
    for k, (matrix, bias) in enumerate(spec.filters(weights)):
        matrix[:], bias[:] = given[f"trunk.{k}.weight"], given[f"trunk.{k}.bias"]
    for name, (matrix, bias) in zip(_names(spec), spec.split(weights), strict=True):
        if name == "memory":
            matrix[: -spec.memory], matrix[-spec.memory :] = given["memory.weight_ih"].T, given["memory.weight_hh"].T
            bias[:] = given["memory.bias_ih"] + given["memory.bias_hh"]
        else:
            matrix[:], bias[:] = given[f"{name}.weight"].T, given[f"{name}.bias"]
    if wrong := spec.misfit(weights):
        raise ValueError(
            f"{wrong}: the module of to_torch() keeps them 0 where it is trained; a state of one network "
            "wants separate_value_net false in metadata['config']"
        )
    return weights


def _said(shape: tuple[int, ...] | None) -> str:
    return "nothing of that name" if shape is None else f"shape {list(shape)}"


def _array(name: str, value: Any) -> np.ndarray:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        value = (value.float() if value.is_floating_point() else value).numpy()  # NumPy has no bfloat16
    array = np.asarray(value)
    if array.dtype.kind != "f":
        raise ValueError(f"{name}: wanted floating-point numbers, got {array.dtype}")
    with np.errstate(over="ignore"):
        array = array.astype(np.float32)
    if not np.isfinite(array).all():
        raise ValueError(f"{name}: wanted finite numbers, got NaN, an infinite one or one beyond float32")
    return array


def dense_layers(state: Mapping[str, Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    """(weight `[n_out, n_in]`, bias `[n_out]`) of a chain of linear layers, in the order of the state dict, whatever
    their names are. Raises ValueError for anything else.
    """
    arrays = {name: _array(name, value) for name, value in state.items()}
    layers: list[tuple[np.ndarray, np.ndarray]] = []
    for name, weight in arrays.items():
        if not name.endswith("weight"):
            continue
        bias = arrays.get(re.sub(r"weight$", "bias", name))
        if weight.ndim != 2 or bias is None or bias.shape != weight.shape[:1]:
            raise ValueError(f"{name}: wanted a linear layer, weight [n_out, n_in] and bias [n_out]")
        if layers and layers[-1][0].shape[0] != weight.shape[1]:
            raise ValueError(f"{name} reads {weight.shape[1]} numbers, and the layer before gives {len(layers[-1][0])}")
        layers.append((weight, bias))
    if 2 * len(layers) != len(arrays) or not layers:
        raise ValueError(f"wanted linear layers alone, got {', '.join(arrays) or 'an empty state dict'}")
    return layers


def side_by_side(
    actor: Mapping[str, Any], critic: Mapping[str, Any], activation: str = "tanh"
) -> tuple[PolicySpec, np.ndarray]:
    """The network, and its flat weights, of a policy and a value network that are apart, each a chain of linear layers
    with as many hidden layers of the same width as the other: one network with zeros between its halves
    (`PolicySpec.separate`). Raises ValueError for others.
    """
    both = dense_layers(actor), dense_layers(critic)
    sizes = [[weight.shape[::-1] for weight, _ in layers] for layers in both]
    if len(sizes[0]) < 2 or sizes[0][:-1] != sizes[1][:-1] or sizes[1][-1] != (sizes[0][-1][0], 1):
        raise ValueError(
            "wanted two networks with the same hidden layers, the second with one output; got (inputs, outputs) "
            f"{sizes[0]} and {sizes[1]}"
        )
    layers = (sizes[0][0][0], *(2 * n_out for _, n_out in sizes[0][:-1]), sizes[0][-1][1] + 1)
    spec = PolicySpec(layers, activation, separate=True)
    weights = np.zeros(spec.floats, np.float32)
    biases = [bias for _, bias in spec.split(weights)]
    for network, matrices, first in zip(both, spec.networks(weights), (True, False), strict=True):
        for (weight, bias), matrix, target in zip(network, matrices, biases, strict=True):
            matrix[:] = weight.T
            (target[: len(bias)] if first else target[-len(bias) :])[:] = bias
    return spec, weights


def halved(spec: PolicySpec, weights: np.ndarray) -> bool:
    """Whether the network of one chain is two side by side, with nothing between them."""
    even = all(n % 2 == 0 for n in spec.layers[1:-1])
    return even and dataclasses.replace(spec, separate=True).fits(weights)


def joined(layers: list[tuple[np.ndarray, np.ndarray]], activation: str = "tanh") -> tuple[PolicySpec, np.ndarray]:
    """The network of one chain of linear layers whose last output is the value, and its flat weights."""
    spec = PolicySpec((layers[0][0].shape[1], *(len(bias) for _, bias in layers)), activation)
    return spec, np.concatenate([part.ravel() for weight, bias in layers for part in (weight.T, bias)])
