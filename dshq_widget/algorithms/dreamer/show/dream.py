"""What the world model makes of a match: what it reconstructs, how surprised it was, and what it imagines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from dshq_widget.algorithms.dreamer.model import distributions as dist
from dshq_widget.algorithms.dreamer.model.agent import Dreamer, Player

GREYS = 16
"""Shades of a reconstructed frame, two pixels to a byte."""
STEPS = 15
"""Steps that are imagined for the page, as training imagines them (DreamerV3)."""


@dataclass
class Latent:
    """Where a match stands in the model: h `[1, deter]`, z `[1, stoch * classes]`."""

    h: Tensor
    z: Tensor

    @classmethod
    def of(cls, player: Player) -> Latent:
        """After the player's last frame."""
        return cls(player.h.clone(), player.z.clone())

    @property
    def row(self) -> Tensor:
        return torch.cat([self.z, self.h], -1)


@dataclass
class Imagined:
    """One imagined step."""

    frame: bytes
    reward: float
    continues: float
    """Probability that the episode continues."""


def packed(frames: Tensor) -> bytes:
    """Frames f32 `[n, 1, 72, 80]` from -0.5 to 0.5 -> 16 greys, 2,880 bytes each: the left pixel in the low half."""
    grey = ((frames + 0.5) * (GREYS - 1)).round().clamp(0, GREYS - 1).to(torch.uint8).flatten().numpy()
    return (grey[0::2] | grey[1::2] << np.uint8(4)).tobytes()


@torch.no_grad()
def reconstructed(dreamer: Dreamer, player: Player) -> tuple[bytes, float]:
    """What the model makes of the player's last frame, and its surprise at it: the divergence of what the frame said of
    z from what was expected, in nats.
    """
    assert player.posterior is not None
    surprise = dist.divergence(player.posterior, dreamer.model.rssm.prior(player.h))
    return packed(dreamer.model.decoder(player.latent)), float(surprise)


class Dream:
    """The model without frames: each `step` draws what comes next."""

    def __init__(self, dreamer: Dreamer, latent: Latent, seed: int) -> None:
        self.dreamer, self.latent = dreamer, latent
        self.chance = torch.Generator().manual_seed(seed)

    @torch.no_grad()
    def look(self) -> Imagined:
        """Where it stands."""
        model, row = self.dreamer.model, self.latent.row
        reward = float(model.reward(row)) / self.dreamer.settings.reward_scale
        return Imagined(packed(model.decoder(row)), reward, float(model.continues(row)))

    @torch.no_grad()
    def step(self, action: int | None = None) -> Imagined:
        """One step with a person's action, or with the policy's."""
        model, size = self.dreamer.model, self.dreamer.model.size
        if action is None:
            log_probs = self.dreamer.actor(self.latent.row)
            action = int(dist.drawn(log_probs, torch.rand(log_probs.shape, generator=self.chance)))
        taken = dist.one_hot(torch.tensor([action]), model.n_actions)
        uniform = torch.rand((1, size.stoch, size.classes), generator=self.chance)
        self.latent = Latent(*model.rssm.imagine_step(self.latent.h, self.latent.z, taken, uniform))
        return self.look()
