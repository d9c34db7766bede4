"""The recurrent state-space model: h, what is remembered, and z, categorical variables drawn at each step.

Hafner et al., "Learning Latent Dynamics for Planning from Pixels", 2019; with categorical z "Mastering Atari with
Discrete World Models" (DreamerV2), 2021; the GRU with layer norm and the update bias of -1 is that of DreamerV1 to V3
and of dreamerv3-torch. A latent is z, then h: f32 `[..., stoch * classes + deter]`.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from dshq_widget.algorithms.dreamer.model.distributions import mixed, one_hot, straight_through
from dshq_widget.algorithms.dreamer.model.layers import Dense
from dshq_widget.algorithms.dreamer.model.sizes import EPSILON, Size

UPDATE_BIAS = -1.0
"""Added to the GRU's update gate, so that it remembers at first (DreamerV1 to V3)."""


class GRU(nn.Module):
    """x `[..., n_in]`, h `[..., deter]` -> h. The gates are normalised together."""

    def __init__(self, n_in: int, deter: int) -> None:
        super().__init__()
        self.linear, self.norm = nn.Linear(n_in + deter, 3 * deter, bias=False), nn.LayerNorm(3 * deter, EPSILON)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        reset, candidate, update = self.norm(self.linear(torch.cat([x, h], -1))).chunk(3, -1)
        update = (update + UPDATE_BIAS).sigmoid()
        return update * (reset.sigmoid() * candidate).tanh() + (1 - update) * h


@dataclass
class States:
    """What `observe` found, `[T, B, ...]`."""

    h: Tensor
    z: Tensor
    """One-hot samples `[T, B, stoch * classes]` with straight-through gradients."""
    posterior: Tensor
    """Log probabilities `[T, B, stoch, classes]`, and so the prior's."""
    prior: Tensor

    @property
    def latent(self) -> Tensor:
        return torch.cat([self.z, self.h], -1)

    @property
    def memory(self) -> tuple[Tensor, Tensor]:
        """As the replay ring keeps it: h, and z as classes u8 `[T, B, stoch]`."""
        return self.h.detach(), self.z.detach().view(self.posterior.shape).argmax(-1).to(torch.uint8)


@dataclass
class Context:
    """What was remembered before the first step of each sequence of a batch."""

    known: Tensor
    """bool `[B]`: where it is False, the sequence begins with an empty memory."""
    h: Tensor
    """f32 `[B, deter]`."""
    z: Tensor
    """One-hot `[B, stoch * classes]`."""


class RSSM(nn.Module):
    """`embed` is the length of an encoded frame."""

    def __init__(self, size: Size, n_actions: int, embed: int) -> None:
        super().__init__()
        self.size, self.n_actions = size, n_actions
        wide = size.stoch * size.classes
        self.before = Dense(wide + n_actions, size.hidden)
        self.gru = GRU(size.hidden, size.deter)
        self.prior_layer, self.prior_out = Dense(size.deter, size.hidden), nn.Linear(size.hidden, wide)
        # the posterior's first layer in two parts, so that all frames go through theirs at once
        self.of_h = nn.Linear(size.deter, size.hidden, bias=False)
        self.of_frame = nn.Linear(embed, size.hidden, bias=False)
        self.post_norm, self.post_out = nn.LayerNorm(size.hidden, EPSILON), nn.Linear(size.hidden, wide)
        self.h0 = nn.Parameter(torch.zeros(size.deter))

    def initial(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """h and z where an episode begins, for a batch as long as `like`: learned, and the prior's mode (gbxcule)."""
        h = self.h0.tanh()
        z = one_hot(self.prior(h).argmax(-1), self.size.classes).flatten()
        return h.expand(len(like), -1), z.expand(len(like), -1)

    def step(self, h: Tensor, z: Tensor, action: Tensor) -> Tensor:
        """The next h, after a one-hot action `[..., n_actions]`."""
        return self.gru(self.before(torch.cat([z, action], -1)), h)

    def prior(self, h: Tensor) -> Tensor:
        """Log probabilities `[..., stoch, classes]` of z, not knowing the frame."""
        return self._log_probs(self.prior_out(self.prior_layer(h)))

    def posterior(self, h: Tensor, seen: Tensor) -> Tensor:
        """The same, knowing it: `seen` is `of_frame` of the encoded frame."""
        return self._log_probs(self.post_out(functional.silu(self.post_norm(self.of_h(h) + seen))))

    def begin(self, h: Tensor, z: Tensor, action: Tensor, is_first: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Where an episode begins (`is_first` bool `[B]`) nothing before it counts: no action, the initial h and z."""
        first = is_first[:, None]
        h0, z0 = self.initial(h)
        return torch.where(first, h0, h), torch.where(first, z0, z), action * ~first

    def observe_step(
        self, h: Tensor, z: Tensor, action: Tensor, is_first: Tensor, seen: Tensor, uniform: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """One step that knows the frame: `action` is the one before. Returns h, z and the posterior."""
        h = self.step(*self.begin(h, z, action, is_first))
        posterior = self.posterior(h, seen)
        return h, straight_through(posterior, uniform).flatten(-2), posterior

    def observe(
        self, embedded: Tensor, actions: Tensor, is_first: Tensor, uniform: Tensor, context: Context | None = None
    ) -> States:
        """Encoded frames `[T, B, embed]`, one-hot actions *before* them `[T, B, n_actions]`, is_first bool `[T, B]`
        and numbers in [0, 1) `[T, B, stoch, classes]`. The first step starts an episode, but where a context is known.
        """
        h, z = self.initial(is_first[0]) if context is None else (context.h, context.z)
        anew = torch.ones_like(is_first[:1]) if context is None else is_first[:1] | ~context.known
        is_first = torch.cat([anew, is_first[1:]])
        seen, found = self.of_frame(embedded), []
        for t in range(len(embedded)):
            h, z, posterior = self.observe_step(h, z, actions[t], is_first[t], seen[t], uniform[t])
            found.append((h, z, posterior))
        hs, zs, posteriors = (torch.stack(rows) for rows in zip(*found, strict=True))
        return States(hs, zs, posteriors, self.prior(hs))

    def imagine_step(self, h: Tensor, z: Tensor, action: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
        """One step that does not know the frame: h and z drawn from the prior."""
        h = self.step(h, z, action)
        return h, straight_through(self.prior(h), uniform).flatten(-2)

    def _log_probs(self, logits: Tensor) -> Tensor:
        return mixed(logits.unflatten(-1, (self.size.stoch, self.size.classes)))
