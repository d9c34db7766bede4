"""The world model and its losses: what a frame was, what it earned, whether it continues, and what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional

from dshq_widget.algorithms.dreamer.model import distributions as dist
from dshq_widget.algorithms.dreamer.model.layers import Decoder, Encoder, Head
from dshq_widget.algorithms.dreamer.model.places import PlacedDecoder
from dshq_widget.algorithms.dreamer.model.rssm import RSSM, Context, States
from dshq_widget.algorithms.dreamer.model.sizes import BINS, CODE, Size
from dshq_widget.algorithms.dreamer.model.spots import GlanceEncoder, SpotDecoder, surprisal
from dshq_widget.pixels import packing, unpackers
from dshq_widget.pixels.ring import UNKNOWN

DYNAMICS, REPRESENTATION = 1.0, 0.1
"""Weights of the two halves of the KL loss: the prior learns faster than the posterior (danijar/dreamerv3; gbxcule and
dreamerv3-torch have 0.5 and 0.1).
"""
IMAGE, EXPECTED = 1.0, 20.0
"""With spots: weights of a frame's nats and of the squared error of its code."""


@dataclass
class Losses:
    """Of a batch, each a mean over its steps, nats but `image` (squared error summed over a frame, weighted; with spots
    see `image_loss`).
    """

    image: Tensor
    reward: Tensor
    continues: Tensor
    dynamics: Tensor
    representation: Tensor

    @property
    def total(self) -> Tensor:
        return (
            self.image + self.reward + self.continues + DYNAMICS * self.dynamics + REPRESENTATION * self.representation
        )


class WorldModel(nn.Module):
    """Reads frames u8 `[..., 1, 72, 20]`, four pixels to a byte, or shades u8 `[..., 1, 72, 80]`: the same numbers."""

    def __init__(
        self,
        size: Size,
        n_actions: int,
        *,
        height: int = packing.HEIGHT,
        width: int = packing.WIDTH,
        unpack_impl: str = "lut",
        rare_shades: float = 0.0,
        free_nats: float = 1.0,
    ) -> None:
        """Raises ValueError for frames that cannot be halved often enough."""
        super().__init__()
        self.size, self.n_actions, self.width, self.unpack_impl = size, n_actions, width, unpack_impl
        self.rare_shades, self.free_nats = rare_shades, free_nats
        self.encoder: Encoder | GlanceEncoder = (
            GlanceEncoder(height, width, size.depth, size.strides, CODE)
            if size.spots
            else Encoder(height, width, size.depth, size.strides, size.places)
        )
        self.rssm = RSSM(size, n_actions, self.encoder.features)
        self.decoder: nn.Module = (
            SpotDecoder(height, width, size.spots, size.latent, 2 * size.units, CODE)
            if size.spots
            else PlacedDecoder(height, width, prod(size.strides), size.latent, size.units)
            if size.places
            else Decoder(height, width, size.depth, size.latent, size.strides)
        )
        self.reward_head = Head(size.latent, size.units, size.predictors, BINS, zero=True)
        self.continue_head = Head(size.latent, size.units, size.predictors, 1)
        self.register_buffer("bins", dist.bins(), persistent=False)
        self.bins: Tensor

    def change(self, rare_shades: float, free_nats: float) -> None:
        """Weigh the losses by other settings from now on."""
        self.rare_shades, self.free_nats = rare_shades, free_nats

    def pixels(self, frames: Tensor) -> Tensor:
        """f32 `[..., 1, height, width]` from -0.5 to 0.5."""
        shades = frames if frames.shape[-1] == self.width else unpackers.unpack(frames, self.unpack_impl)
        return shades.float() / (packing.SHADES - 1) - 0.5

    def reward(self, latents: Tensor) -> Tensor:
        """The mean reward that arrives with latents `[..., latent]`: `[...]`."""
        return dist.mean_of_bins(self.reward_head(latents), self.bins)

    def continues(self, latents: Tensor) -> Tensor:
        """The probability that the episode continues after them: `[...]`."""
        return self.continue_head(latents).squeeze(-1).sigmoid()

    def context(self, batch: Mapping[str, Tensor]) -> Context | None:
        """What was remembered before a batch of a ring that keeps it (pixels/ring.py); None for other batches."""
        if "h" not in batch:
            return None
        known, classes = batch["z"][:, 0] != UNKNOWN, batch["z"].clamp(max=self.size.classes - 1).long()
        return Context(known, batch["h"].float(), dist.one_hot(classes, self.size.classes).flatten(-2))

    def image_loss(self, latents: Tensor, seen: Tensor, pixels: Tensor) -> Tensor:
        """How far frames `[n, 1, height, width]`, encoded as `seen`, are from what latents `[n, latent]` say: a scalar.
        With spots `IMAGE` times the nats of the frame drawn from its code, and how far the code is from what latents
        expect.
        """
        if isinstance(self.decoder, SpotDecoder):
            frame = surprisal(self.decoder.logits(seen), pixels)
            code = (self.decoder.expected(latents) - seen.detach()).square().sum(-1)
            return (IMAGE * frame + EXPECTED * code).mean()
        weights = shade_weights(pixels, self.rare_shades)
        return (weights * (self.decoder(latents) - pixels).square()).sum((-3, -2, -1)).mean()

    def losses(self, batch: Mapping[str, Tensor], uniform: Tensor) -> tuple[Losses, States]:
        """Of `[T, B]` steps: `obs`, `action` (taken at the step), `reward` and `continues` (arriving with it),
        `is_first`, and, where the ring keeps a memory, the step before them (`context`); nothing else is read.
        `uniform` f32 `[T, B, stoch, classes]` in [0, 1).
        """
        taken, context = dist.one_hot(batch["action"].long(), self.n_actions), self.context(batch)
        first = torch.zeros_like(taken[:1])
        if context is not None:
            first = dist.one_hot(batch["action_before"].long(), self.n_actions)[None]
        before = torch.cat([first, taken[:-1]])
        pixels = self.pixels(batch["obs"])
        embedded = self.encoder(pixels.flatten(0, 1)).unflatten(0, pixels.shape[:2])
        seen = embedded.detach() if self.size.spots else embedded  # a code is made by drawing alone
        states = self.rssm.observe(seen, before, batch["is_first"], uniform, context)
        latents = states.latent
        return Losses(
            image=self.image_loss(latents.flatten(0, 1), embedded.flatten(0, 1), pixels.flatten(0, 1)),
            reward=dist.two_hot_loss(self.reward_head(latents), batch["reward"], self.bins).mean(),
            continues=functional.binary_cross_entropy_with_logits(
                self.continue_head(latents).squeeze(-1), batch["continues"]
            ),
            dynamics=beyond(self.free_nats, dist.divergence(states.posterior.detach(), states.prior)),
            representation=beyond(self.free_nats, dist.divergence(states.posterior, states.prior.detach())),
        ), states


def shade_weights(pixels: Tensor, most: float) -> Tensor:
    """The weight of each pixel f32 `[..., height, width]`, from -0.5 to 0.5: all shades of the batch weigh the same in
    all, but no pixel more than `most`. With 0 every pixel weighs 1.
    """
    if not most:
        return pixels.new_ones(())
    shades = ((pixels + 0.5) * (packing.SHADES - 1)).round().long()
    counts = torch.bincount(shades.flatten(), minlength=packing.SHADES).clamp(min=1)
    return (shades.numel() / (packing.SHADES * counts)).clamp(max=most).to(pixels.dtype)[shades]


def beyond(free: float, divergence: Tensor) -> Tensor:
    """The mean of `[T, B]` divergences, each at least `free` nats: below that there is no gradient."""
    return divergence.clamp(min=free).mean()
