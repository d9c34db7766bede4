"""What is learned in imagination: an actor, and a critic of its returns. Constants: danijar/dreamerv3."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from dshq_widget.algorithms.dreamer.model import distributions as dist
from dshq_widget.algorithms.dreamer.model.layers import Head
from dshq_widget.algorithms.dreamer.model.sizes import BINS, Size

LAMBDA = 0.95
SCALE_DECAY, LOW, HIGH, LEAST_SCALE = 0.99, 0.05, 0.95, 1.0
SLOW_RATE, SLOW_WEIGHT = 0.02, 1.0
"""How fast the slow critic follows, and how much the critic keeps to it."""


class Actor(nn.Module):
    """Latents `[..., latent]` -> log probabilities of actions `[..., n_actions]`, 1 % uniform."""

    def __init__(self, size: Size, n_actions: int) -> None:
        super().__init__()
        self.head = Head(size.latent, size.units, size.behaviour, n_actions)

    def forward(self, latents: Tensor) -> Tensor:
        return dist.mixed(self.head(latents))


class Critic(nn.Module):
    """Latents -> logits over bins `[..., 255]` of the return; untrained it says exactly 0."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.head = Head(size.latent, size.units, size.behaviour, BINS, zero=True)

    def forward(self, latents: Tensor) -> Tensor:
        return self.head(latents)


def lambda_returns(reward: Tensor, continues: Tensor, value: Tensor, discount: float) -> Tensor:
    """f32 `[H, N]`: R_t = r_t+1 + discount c_t+1 ((1 - lambda) v_t+1 + lambda R_t+1), R_H = v_H, from what the model
    says of H + 1 states: `[H + 1, N]` each.
    """
    last, returns = value[-1], []
    for t in range(len(value) - 2, -1, -1):
        ahead = (1 - LAMBDA) * value[t + 1] + LAMBDA * last
        last = reward[t + 1] + discount * continues[t + 1] * ahead
        returns.append(last)
    return torch.stack(returns[::-1])


def replay_returns(
    reward: Tensor, continues: Tensor, is_first: Tensor, ahead: Tensor, discount: float
) -> tuple[Tensor, Tensor]:
    """Lambda-returns of T played steps, `[T - 1, B]`, and which of them count (bool): not those of an episode's last
    step, after which another one begins. `ahead` `[T, B]` is what was imagined from each step on; where the steps end
    it stands for all that follows (`repl_loss` of danijar/dreamerv3).
    """
    same = ~is_first[1:]
    last, returns = ahead[-1], []
    for t in range(len(reward) - 2, -1, -1):
        goes_on = same[t + 1] if t + 1 < len(same) else torch.ones_like(same[t])
        follows = torch.where(goes_on, (1 - LAMBDA) * ahead[t + 1] + LAMBDA * last, ahead[t + 1])
        last = reward[t + 1] + discount * continues[t + 1] * follows
        returns.append(last)
    return torch.stack(returns[::-1]), same


def path_weights(continues: Tensor, discount: float) -> Tensor:
    """f32 `[H + 1, N]`: how likely each imagined state is to be reached at all, discounted; the first has `continues`
    of the data itself.
    """
    return (discount * continues).cumprod(0) / discount


class ReturnScale:
    """The spread of returns, from the 5th to the 95th percentile, as a moving average; at least 1, so that small
    returns are not blown up.
    """

    def __init__(self) -> None:
        self.spread = torch.zeros(())

    def restore(self, spread: Tensor) -> None:
        """Continue with what `spread` was."""
        self.spread = spread

    def update(self, returns: Tensor) -> Tensor:
        """Hear of more returns; gives the scale, a scalar."""
        low, high = torch.quantile(returns.detach().float().flatten(), returns.new_tensor([LOW, HIGH]))
        self.spread = SCALE_DECAY * self.spread.to(returns.device) + (1 - SCALE_DECAY) * (high - low)
        return self.spread.clamp(min=LEAST_SCALE)


@dataclass
class Imagined:
    """H steps from N states, without gradients: `[H + 1, N, ...]`, actions `[H, N]`."""

    latents: Tensor
    actions: Tensor
    reward: Tensor
    continues: Tensor


def actor_loss(log_probs: Tensor, actions: Tensor, advantage: Tensor, weights: Tensor, entropy_coef: float) -> Tensor:
    """REINFORCE with an entropy bonus: `log_probs` `[H, N, n_actions]`, the others `[H, N]`; a scalar."""
    chosen = log_probs.gather(-1, actions[..., None]).squeeze(-1)
    gain = chosen * advantage.detach() + entropy_coef * dist.entropy(log_probs)
    return -(weights * gain).mean()


def critic_loss(logits: Tensor, slow: Tensor, returns: Tensor, weights: Tensor, places: Tensor) -> Tensor:
    """Cross entropy to the returns `[H, N]`, and to what the slow critic expects; a scalar."""
    loss = dist.two_hot_loss(logits, returns, places)
    loss = loss + SLOW_WEIGHT * dist.two_hot_loss(logits, dist.mean_of_bins(slow, places), places)
    return (weights * loss).mean()
