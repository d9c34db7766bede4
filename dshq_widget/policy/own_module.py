"""A person's module of PyTorch as this package computes with it: tried, normalised around, and as flat weights."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.func import functional_call

from dshq_widget.policy.own_network import MEAN, SCALE, VALUE_SCALE, NetworkError, Shape, Tensors
from dshq_widget.runtime.words import said

CHUNK = 1024
"""Rows looked at at once; limits the memory of pictures."""
TRIED = 2
"""Rows of the observations with which a module is tried."""


class OwnModule(nn.Module):
    """`net`, the person's, and around it what observations and values are normalised by.

    `forward` takes observations `[N, *shape]` as `spec.layout` has them, and gives outputs f32 `[N, action_size]` and
    values f32 `[N]`. It is in `eval` mode.
    """

    observation_mean: torch.Tensor
    observation_scale: torch.Tensor
    value_scale: torch.Tensor

    def __init__(self, spec: Shape, net: nn.Module) -> None:
        super().__init__()
        self.spec, self.net, numbers = spec, net, spec.layout.numbers
        self.register_buffer(MEAN, torch.zeros(numbers))
        self.register_buffer(SCALE, torch.ones(numbers))
        self.register_buffer(VALUE_SCALE, torch.ones(()))
        self.eval()

    @classmethod
    def made(cls, spec: Shape, seed: int = 0) -> OwnModule:
        """With what the factory makes after `torch.manual_seed(seed)`; chance elsewhere is as it was. Raises
        NetworkError.
        """
        assert spec.found is not None
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            with _telling(spec, "its factory"):
                net = spec.found.make(spec.layout.shape, spec.n_actions)
            if not isinstance(net, nn.Module):
                raise NetworkError(f"{spec.name} has to give a torch.nn.Module, got {net!r:.60}")
            module = cls(spec, net)
            with torch.no_grad():
                module(torch.zeros(TRIED, *spec.layout.shape))  # a lazy layer has its shape from now on
        if spec.tensors and spec.tensors != module.shapes:
            raise NetworkError(f"{spec.name} gives other parameters from one call to the next: it may not draw sizes")
        return module

    @property
    def shapes(self) -> Tensors:
        """Names and shapes of `tensors`."""
        return tuple((name, tuple(tensor.shape)) for name, tensor in self.tensors())

    def forward(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """See the class. Raises NetworkError for results of another kind or shape."""
        x, numbers = obs.float(), self.spec.layout.numbers
        if numbers:
            x = torch.cat([x[:, :-numbers], (x[:, -numbers:] - self.observation_mean) * self.observation_scale], 1)
        with _telling(self.spec, "forward"):
            found = self.net(x)
        wanted = f"outputs f32 {(len(x), self.spec.n_actions)} and values f32 {(len(x),)}"
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise NetworkError(f"{self.spec.name}: forward has to return {wanted}, got {_said(found)}")
        for part, shape in zip(found, ((len(x), self.spec.n_actions), (len(x),)), strict=True):
            good = isinstance(part, torch.Tensor) and part.dtype == torch.float32 and part.shape == shape
            if not good:
                got = " and ".join(map(_said, found))
                raise NetworkError(f"{self.spec.name}: forward has to return {wanted}, got {got}")
        return found[0], found[1] * self.value_scale

    @torch.no_grad()
    def look(self, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Outputs f32 `[N, action_size]` and values f32 `[N]` of observations `[N, *shape]`. Raises NetworkError for
        numbers that are not finite.
        """
        parts = [self(part) for part in torch.from_numpy(np.ascontiguousarray(obs)).split(CHUNK)]
        outputs, values = (torch.cat(part).numpy() for part in zip(*parts, strict=True))
        check_finite(self.spec, outputs, values)
        return outputs, values

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """What flat weights hold, in their order: the parameters, then buffers of floats."""
        yield from self.named_parameters()
        yield from ((name, buffer) for name, buffer in self.named_buffers() if buffer.is_floating_point())

    def flat(self) -> np.ndarray:
        """Flat weights f32 `[spec.floats]`, a copy. Raises NetworkError for numbers that are not finite."""
        weights = torch.cat([tensor.detach().cpu().reshape(-1) for _, tensor in self.tensors()]).numpy()
        if not np.isfinite(weights).all():
            raise NetworkError(f"{self.spec.name} has parameters or buffers that are not finite")
        return weights

    def views(self, weights: torch.Tensor) -> dict[str, torch.Tensor]:
        """Flat weights f32 `[spec.floats]` by names and in shapes of `tensors`."""
        return {name: weights[self.spec.places[name]].view(shape) for name, shape in self.spec.tensors}

    def outputs(self, weights: torch.Tensor, obs: torch.Tensor) -> torch.Tensor:
        """Outputs, then the value, f32 `[N, action_size + 1]`, with other weights: gradients go to those."""
        outputs, values = functional_call(self, self.views(weights), (obs,))
        return torch.cat([outputs, values[:, None]], 1)

    @torch.no_grad()
    def take(self, weights: np.ndarray) -> None:
        """Have these flat weights from now on."""
        given = self.views(torch.from_numpy(np.array(weights, np.float32)))
        for name, tensor in self.tensors():
            tensor.copy_(given[name])


def check_finite(spec: Shape, *found: np.ndarray) -> None:
    """Raises NetworkError for numbers that are not finite."""
    if not all(np.isfinite(part).all() for part in found):
        raise NetworkError(f"{spec.name} gave numbers that are not finite: look at its forward, or lower learning_rate")


@contextlib.contextmanager
def _telling(spec: Shape, what: str) -> Iterator[None]:
    """Whatever a person's code raises as a sentence that names it; the traceback stays."""
    try:
        yield
    except Exception as error:
        raise NetworkError(f"{spec.name} failed in {what}: {said(error)}") from error


def tensors_of(spec: Shape) -> tuple[Tensors, tuple[str, ...]]:
    """Names and shapes of all that flat weights hold, and the names of what learns. Raises NetworkError for a module
    without parameters that learn, with others than float32, or whose results are not finite or do not depend on them.
    """
    module = OwnModule.made(spec)
    name, parts = spec.name, list(module.tensors())
    for part, tensor in parts:
        if tensor.dtype != torch.float32 or tensor.device.type != "cpu":
            got = f"{str(tensor.dtype).removeprefix('torch.')} on {tensor.device} in {part.removeprefix('net.')}"
            raise NetworkError(f"{name}: wanted float32 on the processor everywhere, got {got}")
    learning = tuple(part for part, tensor in module.named_parameters() if tensor.requires_grad)
    if not learning:
        raise NetworkError(f"{name} has no parameters that learn: its constructor has to make layers")
    outputs, values = module(torch.zeros(TRIED, *spec.layout.shape))
    if not (torch.isfinite(outputs).all() and torch.isfinite(values).all()):
        raise NetworkError(f"{name}: forward gives numbers that are not finite for observations that are 0")
    for what, part in (("outputs", outputs), ("values", values)):
        if not part.requires_grad:
            raise NetworkError(
                f"{name}: its {what} do not depend on parameters: no torch.no_grad() and no detach() in forward"
            )
    module.flat()
    return module.shapes, learning


def _said(part: Any) -> str:
    if not isinstance(part, torch.Tensor):
        return f"{type(part).__name__}"
    return f"{str(part.dtype).removeprefix('torch.')} {tuple(part.shape)}"
