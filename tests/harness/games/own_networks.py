"""Networks of a person's own for tests: two that keep to the protocol, and one for each way not to."""

import torch
from torch import nn


class Small(nn.Module):
    """Numbers or a picture; one hidden layer."""

    def __init__(self, observation_shape: tuple[int, ...], action_size: int) -> None:
        super().__init__()
        inputs = int(torch.tensor(observation_shape).prod())
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(inputs, 32), nn.Tanh())
        self.actions, self.value = nn.Linear(32, action_size), nn.Linear(32, 1)
        nn.init.orthogonal_(self.actions.weight, 0.01)

    def forward(self, observations):
        found = self.body(observations)
        return self.actions(found), self.value(found).squeeze(-1)


class Buffered(Small):
    """Has a frozen parameter, a shared one, a random buffer, and layers that would behave otherwise in training."""

    def __init__(self, observation_shape, action_size):
        super().__init__(observation_shape, action_size)
        self.body.append(nn.Dropout(0.9))
        self.body.append(nn.BatchNorm1d(32))
        self.frozen = nn.Parameter(torch.randn(32), requires_grad=False)
        self.shared = self.frozen
        self.register_buffer("noise", torch.randn(32))

    def forward(self, observations):
        found = self.body(observations) + self.frozen + self.noise + self.shared
        return self.actions(found), self.value(found).squeeze(-1)


def lazy(observation_shape, action_size):
    """A function is a factory, too, and layers may find their sizes themselves."""
    small = Small(observation_shape, action_size)
    small.body = nn.Sequential(nn.LazyLinear(32), nn.ReLU())
    return small


class Mute(nn.Module):
    """No parameters at all."""

    def __init__(self, observation_shape, action_size):
        super().__init__()
        self.size = action_size

    def forward(self, observations):
        return observations[:, :1].expand(-1, self.size), observations[:, 0]


class Column(Small):
    """Values as a column."""

    def forward(self, observations):
        found = self.body(observations)
        return self.actions(found), self.value(found)


class Narrow(Small):
    """Too few outputs."""

    def forward(self, observations):
        outputs, values = super().forward(observations)
        return outputs[:, 1:], values


class Single(Small):
    """One result."""

    def forward(self, observations):
        return super().forward(observations)[0]


class Double(Small):
    """Other floats."""

    def __init__(self, observation_shape, action_size):
        super().__init__(observation_shape, action_size)
        self.double()

    def forward(self, observations):
        return tuple(part.float() for part in super().forward(observations.double()))


class Detached(Small):
    """Its values do not learn."""

    def forward(self, observations):
        outputs, values = super().forward(observations)
        return outputs, values.detach()


class Infinite(Small):
    """The logarithm of 0."""

    def forward(self, observations):
        outputs, values = super().forward(observations)
        return outputs + observations.sum(1, keepdim=True).log(), values


class Broken(Small):
    """An error of one's own."""

    def forward(self, observations):
        return super().forward(observations[:, :1, None])


class Late(Small):
    """Good at first: what it gives for other observations than 0 is not finite."""

    def forward(self, observations):
        outputs, values = super().forward(observations)
        return outputs / (observations == 0).all(1, keepdim=True).float(), values


def no_module(observation_shape, action_size):
    return lambda observations: (observations, observations[:, 0])
