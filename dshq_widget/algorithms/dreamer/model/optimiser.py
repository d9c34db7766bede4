"""Adam on all weights of a module as one flat tensor: few kernels, and a state that is two rows of numbers."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BETAS, EPSILON = (0.9, 0.999), 1e-5
"""dreamerv3-torch: 1e-8 for the world model, 1e-5 for actor and critic; gbxcule 1e-5 for all."""


class FlatAdam:
    """The module's parameters become parts of `weights` f32 `[n]`, their gradients of `grads`."""

    def __init__(self, module: nn.Module) -> None:
        parameters = list(module.parameters())
        n = sum(each.numel() for each in parameters)
        self.weights = torch.cat([each.detach().flatten() for each in parameters])
        self.grads, self.m, self.v = (torch.zeros_like(self.weights) for _ in range(3))
        self.steps, at = 0, 0
        for each in parameters:
            part = slice(at, at + each.numel())
            each.data, each.grad = (row[part].view(each.shape) for row in (self.weights, self.grads))
            at += each.numel()
        assert at == n

    def norm(self) -> Tensor:
        """The gradient's norm, a scalar."""
        return self.grads.norm()

    def step(self, rate: float, clip: float, norm: Tensor) -> None:
        """One step of Adam with the gradient scaled down to the norm `clip`; then the gradient is 0."""
        self.steps += 1
        self.grads.mul_(clip / norm.clamp(min=clip))
        one, two = BETAS
        self.m.lerp_(self.grads, 1 - one)
        self.v.mul_(two).addcmul_(self.grads, self.grads, value=1 - two)
        below = (self.v / (1 - two**self.steps)).sqrt_().add_(EPSILON)
        self.weights.addcdiv_(self.m, below, value=-rate / (1 - one**self.steps))
        self.grads.zero_()

    def go_on(self, steps: int) -> None:
        """The moments are those after `steps`."""
        self.steps = steps

    def forget(self) -> None:
        """Drop the gradient and the moments."""
        self.steps = 0
        for row in (self.grads, self.m, self.v):
            row.zero_()
