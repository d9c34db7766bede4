"""PPO in torch with autograd: the reference for the fused learner, and the learner on a GPU."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from dshq_kernels.network.layers import shapes
from dshq_kernels.network.mlp import FORBIDDEN
from dshq_kernels.play.rollout import Samples
from dshq_kernels.run.draws import Draws
from dshq_widget.algorithms.ppo.learners import learner, losses
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.policy import torch_module
from dshq_widget.policy.network import PolicySpec


class TorchPPO:
    """See `learners.Learner`. `threads` is torch's thread count on the CPU, `device` one of torch's."""

    def __init__(
        self,
        spec: PolicySpec,
        *,
        seed: int = 0,
        threads: int = 1,
        device: str = "cpu",
        normalizer: Normalizer | None = None,
    ):
        self.spec, self.seed, self.skipped = spec, seed, 0
        self.normalizer = normalizer or Normalizer(spec)
        self.device = torch.device(device)
        if self.device.type == "cpu":
            torch.set_num_threads(threads)
        self._draws = Draws(seed, learner.ORDERS)
        self.weights = torch.zeros(spec.floats, device=self.device, requires_grad=True)
        self._mask = torch.from_numpy(spec.mask()).to(self.device)
        self.load(spec.untrained(seed))

    def forward(
        self, obs: torch.Tensor, mask: torch.Tensor | None = None, weights: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities `[N, n_actions]` and values `[N]` of observations `[N, n_obs]`; `mask`, bool `[N,
        n_actions]`, says which actions are allowed. `weights` are another policy's.
        """
        x = self.outputs(obs, weights)
        logits = x[:, :-1] if mask is None else x[:, :-1].masked_fill(~mask, FORBIDDEN)
        return torch.log_softmax(logits, -1), x[:, -1]

    def outputs(self, obs: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
        """Outputs of the network's last layer, `[N, n_actions + 1]`."""
        weights = self.weights if weights is None else weights
        return torch_module.outputs(self.spec, self._parts(weights), obs)

    def _parts(self, weights: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """(W, b) views of each layer, those in front first."""
        parts, at = [], 0
        for n_in, n_out in shapes(self.spec.layers):
            middle, end = at + n_in * n_out, at + n_in * n_out + n_out
            parts.append((weights[at:middle].view(n_in, n_out), weights[middle:end]))
            at = end
        return parts

    def assess(
        self, obs: torch.Tensor, action: torch.Tensor, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Log-probabilities `[N]` of the actions taken, the mean entropy, and values `[N]`."""
        log_probs, values = self.forward(obs, mask)
        return log_probs.gather(1, action[:, None])[:, 0], losses.entropy(log_probs), values

    def loss(
        self,
        obs: torch.Tensor,
        action: torch.Tensor,
        log_prob: torch.Tensor,
        value: torch.Tensor,
        advantage: torch.Tensor,
        returns: torch.Tensor,
        hyper: Hyper,
        mask: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """The loss of one minibatch and its metrics."""
        chosen, entropy, values = self.assess(obs, action, mask)
        parts = {
            "loss_policy": losses.policy_loss(chosen, log_prob, advantage, hyper.clip_epsilon),
            "loss_value": losses.value_loss(values, value, returns, hyper.clip_epsilon if hyper.clip_value else None),
            "entropy": entropy,
            "approx_kl": losses.approx_kl(chosen, log_prob).detach(),
            "clip_fraction": losses.clip_fraction(chosen, log_prob, hyper.clip_epsilon).detach(),
        }
        loss = parts["loss_policy"] + hyper.value_coef * parts["loss_value"] - hyper.entropy_coef * parts["entropy"]
        parts["loss_value"] = parts["loss_value"] / self.reward_scale**2  # in the reward's own unit
        return loss, {name: part.detach() for name, part in parts.items()}

    @property
    def reward_scale(self) -> Any:
        """Factor of values and returns while learning."""
        return self.normalizer.reward_scale

    def normalise_by(self, normalizer: Normalizer) -> None:
        """Normalise by these moments from now on; they become its own."""
        self.normalizer = normalizer

    def update(self, samples: Samples, units: np.ndarray, hyper: Hyper) -> dict[str, float]:
        """See `learners.Learner.update`."""
        normalizer = self.normalizer
        if normalizer.measures:
            self._set(normalizer.measured(self.blob(), samples, units))
            return self._explained(samples, units)
        if normalizer.active:
            self._set(normalizer.unfold(self.blob()))
        order, importance, bounds = self._drawn(samples, units, hyper)
        mean, scale = self._advantages(samples, units, hyper)
        fields = self._upload(samples)
        rows, factors = torch.from_numpy(order).to(self.device), torch.from_numpy(importance).to(self.device)
        for group in self.adam.param_groups:
            group["lr"] = hyper.learning_rate
        sums: dict[str, torch.Tensor] = {}
        learned, applied = 0, 0
        for begin, end in itertools.pairwise(bounds.tolist()):
            batch = self._batch(fields, rows[begin:end], factors[begin:end], mean, scale)
            loss, parts = self.loss(**batch, hyper=hyper)
            if 0 < hyper.target_kl * learner.KL_MARGIN < float(parts["approx_kl"]):
                break
            norm = self._slope(loss, hyper)
            if not torch.isfinite(norm):
                self.skipped += 1
                continue
            self.adam.step()
            count = (end - begin) * 16
            learned, applied = learned + count, applied + 1
            for name, part in {**{name: part * count for name, part in parts.items()}, "grad_norm": norm}.items():
                sums[name] = sums.get(name, torch.zeros((), device=self.device)) + part
        metrics = {name: float(total) / (applied if name == "grad_norm" else learned) for name, total in sums.items()}
        if normalizer.active:
            self._set(normalizer.learned(self.blob(), samples, units))
        return metrics | self._explained(samples, units)

    @torch.no_grad()
    def correct_lag(self, samples: Samples, units: np.ndarray) -> None:
        """See `learners.Learner.correct_lag`."""
        folded = self.blob()
        self._set(self.normalizer.unfold(folded))
        order, _, bounds = self._drawn(samples, units, Hyper(minibatch_order="sequential", minibatch_size=1 << 14))
        rows, fields = torch.from_numpy(order).to(self.device), self._upload(samples)
        places = torch.arange(samples.log_prob.size, dtype=torch.float64, device=self.device)
        fields["log_prob"] = places.view(samples.log_prob.shape)  # a batch then says where its samples lie
        log_prob, advantage = samples.log_prob.reshape(-1), samples.advantage.reshape(-1)
        for begin, end in itertools.pairwise(bounds.tolist()):
            batch = self._batch(fields, rows[begin:end], torch.ones(end - begin, device=self.device), 0.0, 1.0)
            newest = self.assess(batch["obs"], batch["action"], batch["mask"])[0].cpu().numpy()
            at = batch["log_prob"].long().cpu().numpy()
            advantage[at] *= np.minimum(1.0, np.exp(newest - log_prob[at]))
            log_prob[at] = newest
        self._set(folded)

    @staticmethod
    def _explained(samples: Samples, units: np.ndarray) -> dict[str, float]:
        """How much of the returns the values explain, as a metric."""
        value, returns = (torch.from_numpy(x[units]).double() for x in (samples.value, samples.returns))
        return {"explained_variance": float(losses.explained_variance(value, returns))}

    def gradient(self, samples: Samples, units: np.ndarray, hyper: Hyper) -> tuple[np.ndarray, dict[str, float]]:
        """See `learners.Learner.gradient`."""
        folded = self.blob()
        self._set(self.normalizer.unfold(folded))
        mean, scale = self._advantages(samples, units, hyper)
        rows = torch.from_numpy(units.astype(np.int64)).to(self.device)
        batch = self._batch(self._upload(samples), rows, torch.ones(len(rows), device=self.device), mean, scale)
        loss, parts = self.loss(**batch, hyper=hyper)
        self._slope(loss, dataclasses.replace(hyper, max_grad_norm=0.0))
        assert self.weights.grad is not None
        slope = self.weights.grad.cpu().numpy().copy()
        self._set(folded)
        return slope, {name: float(part) for name, part in parts.items()}

    def _drawn(self, samples: Any, units: np.ndarray, hyper: Hyper) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """See `learner.plan_minibatches`."""
        return learner.plan_minibatches(self._draws, units, samples.advantage, hyper)

    def _advantages(self, samples: Samples, units: np.ndarray, hyper: Hyper) -> tuple[float, float]:
        """Mean and factor that normalise the advantages."""
        if not hyper.normalize_advantages:
            return 0.0, self.normalizer.reward_scale
        advantage = samples.advantage[units].astype(np.float64)
        return advantage.mean(), 1 / (advantage.std() + 1e-8)

    def _upload(self, samples: Samples) -> dict[str, torch.Tensor]:
        arrays = {f.name: getattr(samples, f.name) for f in dataclasses.fields(samples)}
        arrays["mask"] = arrays["mask"].view(np.int32)  # torch shifts signed words only
        return {name: torch.from_numpy(array).to(self.device) for name, array in arrays.items()}

    def _batch(
        self, fields: dict[str, torch.Tensor], units: torch.Tensor, importance: torch.Tensor, mean: float, scale: float
    ) -> dict[str, Any]:
        """One minibatch as the arguments of `loss`, `[16 units, ...]` each."""
        rows = {name: fields[name][units].reshape(-1) for name in ("action", "log_prob", "value", "returns")}
        obs = fields["obs"][units].transpose(1, 2).reshape(-1, self.spec.layers[0])
        normal = torch.from_numpy(self.normalizer.inputs).to(self.device)
        words = fields["mask"][units].transpose(1, 2).reshape(len(obs), -1, 1)
        bits = (words >> torch.arange(32, dtype=torch.int32, device=self.device)) & 1
        advantage = (fields["advantage"][units] - mean) * scale * importance[:, None]
        return {
            "obs": (obs - normal[:, 0]) * normal[:, 1] if len(normal) else obs,
            "action": rows["action"].long(),
            "log_prob": rows["log_prob"],
            "value": rows["value"] * self.normalizer.reward_scale,
            "advantage": advantage.reshape(-1),
            "returns": rows["returns"] * self.normalizer.reward_scale,
            "mask": bits.reshape(len(obs), -1)[:, : self.spec.n_actions] != 0 if words.numel() else None,
        }

    def _slope(self, loss: torch.Tensor, hyper: Hyper) -> torch.Tensor:
        """Put the clipped gradient of the loss into `weights.grad`; returns its norm before clipping."""
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        assert self.weights.grad is not None
        self.weights.grad *= self._mask
        limit = hyper.max_grad_norm if hyper.max_grad_norm > 0 else float("inf")
        return torch.nn.utils.clip_grad_norm_([self.weights], limit)

    def _set(self, blob: np.ndarray) -> None:
        with torch.no_grad():
            self.weights.copy_(torch.from_numpy(np.array(blob)))

    def blob(self) -> np.ndarray:
        """See `learners.Learner.blob`."""
        return self.weights.detach().cpu().numpy().copy()

    def load(self, blob: np.ndarray) -> None:
        """See `learners.Learner.load`."""
        learner.check(self.spec, blob)
        self._set(blob)
        self.normalizer.loaded(untrained=np.array_equal(blob, self._untrained()))
        self._forget()

    def _untrained(self) -> np.ndarray:
        """Flat weights of version 0, as `load` gets them."""
        return self.spec.untrained(self.seed)

    def _forget(self) -> None:
        """Fresh moments."""
        self.adam = torch.optim.Adam([self.weights], lr=0.0, eps=learner.ADAM_EPSILON)

    @property
    def _steps_on(self) -> torch.device:
        """Where Adam counts its steps: a fused one where the weights are, any other on the processor."""
        return self.device if self.adam.defaults["fused"] else torch.device("cpu")

    def state(self) -> dict[str, np.ndarray]:
        """See `learners.Learner.state`."""
        moments = self.adam.state.get(self.weights, {})
        empty = torch.zeros_like(self.weights)
        return {
            "adam_m": moments.get("exp_avg", empty).detach().cpu().numpy().copy(),
            "adam_v": moments.get("exp_avg_sq", empty).detach().cpu().numpy().copy(),
            "adam_step": np.array(int(moments.get("step", 0)), np.int64),
            "generator_update": self._draws.state(),
            **self.normalizer.state(),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """See `learners.Learner.restore`."""
        self.adam.state[self.weights] = {
            "step": torch.tensor(float(state["adam_step"]), device=self._steps_on),
            "exp_avg": torch.from_numpy(state["adam_m"].copy()).to(self.device),
            "exp_avg_sq": torch.from_numpy(state["adam_v"].copy()).to(self.device),
        }
        self._draws = Draws.restored(state["generator_update"])
        self.normalizer.restore(state)
