"""A network of your own, a module of PyTorch, on an environment of Gymnasium: docs/howto/own-network.md explains it.

dshq train gym:CartPole-v1 --network docs/examples/own_network.py:Gated --seconds 60 --out bot.dshq
"""

import torch
from torch import nn


class Gated(nn.Module):
    """Two hidden layers; what the second one finds is weighted by gates, which the observation opens and closes."""

    def __init__(self, observation_shape: tuple[int, ...], action_size: int) -> None:
        super().__init__()
        (inputs,) = observation_shape
        self.body = nn.Sequential(nn.Linear(inputs, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.gates = nn.Linear(inputs, 64)
        self.actions = nn.Linear(64, action_size)
        self.value = nn.Linear(64, 1)
        nn.init.orthogonal_(self.actions.weight, 0.01)  # nearly alike at first, so that it explores

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits f32 (B, action_size) and values f32 (B,) of observations f32 (B, observation size)."""
        found = self.body(observations) * torch.sigmoid(self.gates(observations))
        return self.actions(found), self.value(found).squeeze(-1)
