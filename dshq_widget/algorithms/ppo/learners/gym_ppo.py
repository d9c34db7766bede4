"""PPO for Gymnasium's environments: the torch learner with a trunk for pictures and distributions for boxes."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.distributions import Beta
from torch.nn import functional

from dshq_kernels.network.mlp import FORBIDDEN
from dshq_widget.algorithms.ppo.learners import losses
from dshq_widget.algorithms.ppo.learners.learner import ADAM_EPSILON
from dshq_widget.algorithms.ppo.learners.torch_ppo import TorchPPO
from dshq_widget.policy import torch_fronts
from dshq_widget.policy.action_spaces import FIRST_LOG_DEVIATION, LOG_DEVIATIONS, Actions
from dshq_widget.policy.network import PolicySpec

HALF_LOG_TAU = math.log(math.tau) / 2
CHUNK = 1024
"""Rows processed at once during inference; limits the memory of image observations."""


@dataclasses.dataclass
class GymSamples:
    """A rollout in units of 16 rows, as `dshq_kernels.play.rollout.Samples`; actions as `gyms.spaces` draws them."""

    obs: NDArray[Any] | torch.Tensor
    """f32 `[units, n_obs, 16]`, or with pictures `[units, 16, *shape]`, uint8 of one alone (policy/layout.py); torch's
    where they were made on the learner's device (sights.py).
    """
    action: NDArray[Any]
    """f32 `[units, 16, k]`."""
    log_prob: NDArray[Any]
    """f32 `[units, 16]`, as are those below."""
    value: NDArray[Any]
    advantage: NDArray[Any]
    returns: NDArray[Any]
    mask: NDArray[Any] | None = dataclasses.field(default=None, kw_only=True)
    """bool `[units, 16, outputs]`: which options were allowed; None: all of them."""

    def mean_return(self, units: NDArray[Any]) -> float:
        """See `dshq_kernels.play.rollout.Samples`."""
        return float(np.mean(self.returns[units]))


class GymPPO(TorchPPO):
    """See `learners.Learner`; `actions` and `distribution` say what the outputs mean. With `deviation` "free" the
    second half of a box's outputs is their biases alone: the weights to them are 0 and stay 0.
    """

    def __init__(self, spec: PolicySpec, actions: Actions, distribution: str, deviation: str = "state", **options: Any):
        self.actions, self.distribution = actions, distribution
        self.free = deviation == "free" and actions.kind == "box"
        super().__init__(spec, **options)
        if self.free:
            self._mask *= torch.from_numpy(self._bound(np.ones(spec.floats, np.float32))).to(self.device)

    def load(self, blob: NDArray[Any]) -> None:
        """See `learners.Learner.load`; what a free deviation does not read is set to 0."""
        super().load(self._bound(blob) if self.free else blob)

    def _untrained(self) -> NDArray[Any]:
        """See `TorchPPO._untrained`."""
        return self._bound(super()._untrained()) if self.free else super()._untrained()

    def _forget(self) -> None:
        """See `TorchPPO._forget`; torch's fused Adam takes fewer calls, which is what small networks wait for."""
        self.adam = torch.optim.Adam([self.weights], lr=0.0, eps=ADAM_EPSILON, fused=True)

    def _bound(self, blob: NDArray[Any]) -> NDArray[Any]:
        """A copy of flat weights, 0 where a free deviation has none."""
        blob = blob.copy()
        half = self.spec.n_actions // 2
        self.spec.split(blob)[-1][0][:, half:-1] = 0
        return blob

    def outputs(self, obs: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
        """See `TorchPPO.outputs`; observations `[N, *shape]` may have pictures (policy/layout.py)."""
        return super().outputs(self.trunk(obs, weights), weights)

    def trunk(self, obs: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
        """What the dense layers read, `[N, n_obs]`."""
        spec = self.spec
        if not spec.pictures:
            return obs
        return torch_fronts.read(spec.layout, spec.filters(self.weights if weights is None else weights), obs)

    def assess(
        self, obs: torch.Tensor, action: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """See `TorchPPO.assess`; `action` is f32 `[N, k]`."""
        x = self.outputs(obs)
        outputs = x[:, :-1] if mask is None else x[:, :-1].masked_fill(~mask, FORBIDDEN)
        log_prob, entropy = self._judge(outputs, action)
        return log_prob, entropy, x[:, -1]

    def _judge(self, outputs: torch.Tensor, action: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities `[N]` of actions `[N, k]` and the mean entropy."""
        if self.actions.kind != "box":
            parts = [torch.log_softmax(part, -1) for part in outputs.split(list(self.actions.sizes), -1)]
            chosen = [part.gather(1, action[:, k : k + 1].long())[:, 0] for k, part in enumerate(parts)]
            return torch.stack(chosen).sum(0), torch.stack([losses.entropy(part) for part in parts]).sum()
        first, second = outputs.chunk(2, -1)
        if self.distribution == "gaussian":
            log_deviation = (second + FIRST_LOG_DEVIATION).clamp(*LOG_DEVIATIONS)
            distance = (action - first) * (-log_deviation).exp()
            log_prob = -(0.5 * distance.square() + log_deviation + HALF_LOG_TAU).sum(-1)
            return log_prob, (log_deviation + HALF_LOG_TAU + 0.5).sum(-1).mean()
        beta = Beta(1 + functional.softplus(first), 1 + functional.softplus(second), validate_args=False)
        return beta.log_prob(action).sum(-1), beta.entropy().sum(-1).mean()

    @torch.no_grad()
    def look(self, obs: NDArray[Any] | torch.Tensor) -> tuple[NDArray[Any], NDArray[Any]]:
        """Outputs f32 `[N, outputs]` and values f32 `[N]` of what the environments show now, never normalised."""
        x = torch.cat([self.outputs(part.to(self.device)) for part in torch.as_tensor(obs).split(CHUNK)])
        outputs = x.cpu().numpy()
        return outputs[:, :-1], outputs[:, -1]

    @torch.no_grad()
    def log_prob(self, outputs: NDArray[Any], action: NDArray[Any]) -> NDArray[Any]:
        """f32 `[N]` of actions f32 `[N, k]` drawn from these outputs."""
        return self._judge(torch.from_numpy(outputs), torch.from_numpy(action))[0].numpy()

    def _upload(self, samples: Any) -> dict[str, torch.Tensor]:
        arrays = {field.name: getattr(samples, field.name) for field in dataclasses.fields(samples)}
        fields = {name: torch.as_tensor(array).to(self.device) for name, array in arrays.items() if array is not None}
        if self.normalizer.observations is not None and not self.spec.pictures:
            normal = torch.from_numpy(self.normalizer.inputs).to(self.device)
            fields["obs"] = (fields["obs"] - normal[:, :1]) * normal[:, 1:]
        return fields

    def _batch(
        self, fields: dict[str, torch.Tensor], units: torch.Tensor, importance: torch.Tensor, mean: float, scale: float
    ) -> dict[str, torch.Tensor | None]:
        obs = fields["obs"][units]  # a copy
        obs = (obs if self.spec.pictures else obs.transpose(1, 2)).flatten(0, 1)
        if self.normalizer.observations is not None and self.spec.pictures:
            normal = torch.from_numpy(self.normalizer.inputs).to(self.device)
            numbers = obs[:, -len(normal) :]
            numbers.sub_(normal[:, 0]).mul_(normal[:, 1])
        rows = {name: fields[name][units].reshape(-1) for name in ("log_prob", "value", "returns")}
        advantage = (fields["advantage"][units] - mean) * scale * importance[:, None]
        return {
            "obs": obs,
            "action": fields["action"][units].flatten(0, 1),
            "log_prob": rows["log_prob"],
            "value": rows["value"] * self.normalizer.reward_scale,
            "advantage": advantage.reshape(-1),
            "returns": rows["returns"] * self.normalizer.reward_scale,
            "mask": fields["mask"][units].flatten(0, 1) if "mask" in fields else None,
        }
