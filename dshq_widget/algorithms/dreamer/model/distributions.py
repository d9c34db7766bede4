"""Numbers as distributions over bins, and categorical latents. Hafner et al., "Mastering Diverse Domains through World
Models" (DreamerV3), 2023, and its code, danijar/dreamerv3.

All random draws come from uniform numbers that are given, so that nothing here has a random state.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from dshq_widget.algorithms.dreamer.model.sizes import BINS

LARGEST = 20.0
"""Bins are symexp of 255 evenly spaced numbers from -20 to 20 (danijar/dreamerv3)."""
UNIMIX = 0.01
"""Share of the uniform distribution in every categorical one (DreamerV3: latents and actor)."""


def symexp(x: Tensor) -> Tensor:
    """sign(x) (e^|x| - 1)."""
    return x.sign() * x.abs().expm1()


def bins() -> Tensor:
    """f32 `[255]`, rising and symmetric to the last bit; the middle one is 0."""
    half = symexp(torch.linspace(-LARGEST, 0, BINS // 2 + 1, dtype=torch.float64))
    return torch.cat([half, -half[:-1].flip(0)]).float()


def two_hot(x: Tensor, places: Tensor) -> Tensor:
    """f32 `[..., bins]`: weights of the two bins around x whose mean is x; 1 on an outer bin for what lies outside."""
    above = torch.searchsorted(places, x.contiguous()).clamp(1, len(places) - 1)
    low, high = places[above - 1], places[above]
    share = ((x - low) / (high - low)).clamp(0, 1)[..., None]
    weights = torch.zeros(*x.shape, len(places), dtype=x.dtype, device=x.device)
    weights.scatter_(-1, (above - 1)[..., None], 1 - share)
    return weights.scatter_(-1, above[..., None], share)


def mean_of_bins(logits: Tensor, places: Tensor) -> Tensor:
    """The mean of a distribution over bins `[..., bins]` -> `[...]`. Summed from both ends inwards, so that equal
    logits give exactly 0.
    """
    p, half = logits.softmax(-1), len(places) // 2
    left, right = p[..., :half] * places[:half], (p[..., half + 1 :] * places[half + 1 :]).flip(-1)
    return (left + right).sum(-1) + p[..., half] * places[half]


def two_hot_loss(logits: Tensor, x: Tensor, places: Tensor) -> Tensor:
    """Cross entropy of the two-hot weights of x: `[...]`, nats."""
    return -(two_hot(x, places) * logits.log_softmax(-1)).sum(-1)


def mixed(logits: Tensor) -> Tensor:
    """Log probabilities `[..., classes]` with the share `UNIMIX` of the uniform distribution."""
    return (logits.softmax(-1) * (1 - UNIMIX) + UNIMIX / logits.shape[-1]).log()


def drawn(log_probs: Tensor, uniform: Tensor) -> Tensor:
    """A class per distribution, whole numbers `[...]`, from numbers `[..., classes]` in [0, 1): the Gumbel trick."""
    return (log_probs - (-uniform.clamp(1e-20, 1 - 1e-7).log()).log()).argmax(-1)


def one_hot(index: Tensor, classes: int) -> Tensor:
    """f32 `[..., classes]`."""
    return functional.one_hot(index, classes).float()


def straight_through(log_probs: Tensor, uniform: Tensor) -> Tensor:
    """A one-hot sample `[..., classes]` whose gradient is that of the probabilities (Bengio et al., 2013)."""
    probs = log_probs.exp()
    return one_hot(drawn(log_probs, uniform), log_probs.shape[-1]) + probs - probs.detach()


def divergence(p: Tensor, q: Tensor) -> Tensor:
    """KL(p | q) of log probabilities `[..., variables, classes]`, summed over variables: `[...]`, nats."""
    return (p.exp() * (p - q)).sum((-2, -1))


def entropy(log_probs: Tensor) -> Tensor:
    """`[..., classes]` -> `[...]`, nats."""
    return -(log_probs.exp() * log_probs).sum(-1)
