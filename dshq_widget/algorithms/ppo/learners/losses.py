"""PPO's formulas as pure functions of torch tensors, used by the learner and checked by the tests.

Sources: Schulman et al. 2016 (GAE) and 2017 (PPO); Huang et al. 2022 for value clipping; Schulman's note
"Approximating KL Divergence" (2020) for the estimator.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

Number = Any
"""A float, or a tensor of no dimension, which can change without the host."""


def gae(
    rewards: Tensor,
    values: Tensor,
    last_values: Tensor,
    final_values: Tensor,
    terminated: Tensor,
    truncated: Tensor,
    gamma: Number,
    gae_lambda: Number,
) -> tuple[Tensor, Tensor]:
    """Advantages and returns `[T, N]`; arguments as in `dshq_kernels.play.gae.gae`."""
    advantages = torch.zeros_like(rewards)
    carry, following = torch.zeros_like(last_values), last_values
    for t in reversed(range(len(rewards))):
        over = terminated[t] | truncated[t]
        following = torch.where(truncated[t], final_values[t], following)
        following = torch.where(terminated[t], torch.zeros_like(following), following)
        carry = torch.where(over, torch.zeros_like(carry), carry)
        carry = rewards[t] + gamma * following - values[t] + gamma * gae_lambda * carry
        advantages[t] = carry
        following = values[t]
    return advantages, advantages + values


def policy_loss(log_prob: Tensor, old_log_prob: Tensor, advantage: Tensor, clip: Number) -> Tensor:
    """-mean(min(ratio A, clip(ratio, 1 - clip, 1 + clip) A)); all `[N]`."""
    ratio = (log_prob - old_log_prob).exp()
    return -torch.minimum(ratio * advantage, ratio.clamp(1 - clip, 1 + clip) * advantage).mean()


def value_loss(value: Tensor, old_value: Tensor, target: Tensor, clip: Number | None) -> Tensor:
    """mean((V - R)^2), or with `clip` the mean of the LARGER of it and its clipped twin; no factor 1/2: `value_coef`
    has it."""
    loss = (value - target).square()
    if clip is not None:
        clipped = old_value + (value - old_value).clamp(-clip, clip)
        loss = torch.maximum(loss, (clipped - target).square())
    return loss.mean()


def entropy(log_probs: Tensor) -> Tensor:
    """Mean entropy in nats of log-probabilities `[N, n_actions]`."""
    return -(log_probs.exp() * log_probs).sum(-1).mean()


def approx_kl(log_prob: Tensor, old_log_prob: Tensor) -> Tensor:
    """mean((ratio - 1) - log ratio): unbiased, never negative."""
    difference = log_prob - old_log_prob
    return (difference.exp() - 1 - difference).mean()


def clip_fraction(log_prob: Tensor, old_log_prob: Tensor, clip: Number) -> Tensor:
    """Share of samples whose ratio is outside 1 - clip .. 1 + clip."""
    return (((log_prob - old_log_prob).exp() - 1).abs() > clip).to(log_prob.dtype).mean()


def explained_variance(value: Tensor, target: Tensor) -> Tensor:
    """1 - Var(R - V) / Var(R); 0 where the returns do not vary."""
    return explained((target - value).var(correction=0), target.var(correction=0))


def explained(error: Tensor, spread: Tensor) -> Tensor:
    """The same of Var(R - V) and Var(R), which of several machines' samples are not those of one machine's."""
    return torch.where(spread > 0, 1 - error / spread, torch.zeros_like(spread))
