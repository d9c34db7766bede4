"""PPO that stays on one device: it learns from rollouts that lie there (`gpu.play`) and nothing in it waits for the
host. What it computes is what `TorchPPO` computes.

Whatever changes from update to update, the step size and the clip range too, stands in tensors that keep their
addresses, so that on a GPU a whole minibatch (gather, network, loss, gradient, Adam) can be one CUDA graph. Decisions
that TorchPPO leaves to the host are sums and flags here: a minibatch with a gradient that is not finite, and all those
after the divergence has reached its limit, are computed and change nothing.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dshq_kernels.rollout import Samples
from dshq_widget import learners
from dshq_widget.gpu.graphs import captured
from dshq_widget.gpu.play import Rollout
from dshq_widget.learners import Hyper
from dshq_widget.learners.device_normalizer import DeviceNormalizer
from dshq_widget.learners.normalizer import Normalizer
from dshq_widget.learners.ppo import TorchPPO
from dshq_widget.policy import PolicySpec

PRECISIONS = ("f32", "tf32", "bf16")
"""Of matrix products; weights, losses, moments and sums are float32 in all of them."""
UNIT = 16
"""Samples that stay together in a minibatch, as on the processor."""
PARTS = ("loss_policy", "loss_value", "entropy", "approx_kl", "clip_fraction")
GRAD_NORM, LEARNED, APPLIED, SKIPPED, EXPLAINED = range(len(PARTS), len(PARTS) + 5)
"""Places in `report` behind the sums of `PARTS` over samples: the sum of gradient lengths over minibatches, samples and
minibatches learned from, minibatches left out, and the explained variance."""
SCALARS = ("clip_epsilon", "value_coef", "entropy_coef", "max_grad_norm", "target_kl")


@contextmanager
def products(precision: str) -> Iterator[None]:
    """Matrix products of float32 numbers in this precision; torch has one such setting for the process."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else before)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@dataclasses.dataclass(frozen=True)
class Plan:
    """Which samples of a rollout make up which minibatch."""

    order: Tensor
    """i64: indices of samples, all epochs one after the other."""
    importance: Tensor | None
    """f32 of the same length: factors of their advantages; None: all 1."""
    bounds: list[int]
    """Where each minibatch begins in `order`, and where the last one ends."""
    chosen: Tensor | None = None
    """i64: the samples that are learned from; None: all."""


class ResidentPPO(TorchPPO):
    """See `learners.Learner`; `learn` is the way without the host. `device` is "cpu" or "cuda", `precision` one of
    `PRECISIONS` (tf32 means something on a GPU only), `graph` makes each minibatch one CUDA graph.
    """

    def __init__(
        self,
        spec: PolicySpec,
        *,
        seed: int = 0,
        threads: int = 1,
        device: str = "cpu",
        normalizer: Normalizer | None = None,
        precision: str = "f32",
        graph: bool = False,
    ):
        if precision not in PRECISIONS:
            raise ValueError(f"precision: wanted one of {', '.join(PRECISIONS)}, got {precision!r}")
        if graph and torch.device(device).type != "cuda":
            raise ValueError(f"a CUDA graph needs a CUDA device, got {device!r}: leave graph out")
        self.precision, self._wants_graph = precision, graph
        self._moments: dict[str, Tensor] = {}
        super().__init__(spec, seed=seed, threads=threads, device=device, normalizer=normalizer)
        self._normal = DeviceNormalizer(self.normalizer, self.device)
        self._generator = torch.Generator(self.device).manual_seed(seed)
        self._grad = torch.zeros_like(self.weights)
        self._hyper = {name: torch.zeros((), device=self.device) for name in SCALARS}
        self._mean, self._scale = torch.zeros((), device=self.device), torch.ones((), device=self.device)
        self._stopped = torch.zeros((), dtype=torch.bool, device=self.device)
        self._left_out = torch.zeros((), device=self.device)  # what Adam reads: 1 leaves a step out
        self.adam.found_inf = self._left_out  # type: ignore[attr-defined]
        self.report = torch.zeros(EXPLAINED + 1, dtype=torch.float64, device=self.device)
        self._index = torch.zeros(0, dtype=torch.int64, device=self.device)
        self._factor = torch.ones(0, device=self.device)
        self._graphs: dict[tuple[int, int, bool], tuple[Any, Rollout]] = {}
        self._uploaded: Rollout | None = None

    def _forget(self) -> None:
        """Fresh moments, at the addresses of the old ones."""
        if not self._moments:
            self._rate = torch.zeros((), device=self.device)
            on_gpu = self.device.type == "cuda"
            self.adam = torch.optim.Adam(
                [self.weights], lr=self._rate, eps=learners.ADAM_EPSILON, fused=True, capturable=on_gpu
            )
            self._moments = {
                "step": torch.zeros((), device=self.device),
                "exp_avg": torch.zeros_like(self.weights, requires_grad=False),
                "exp_avg_sq": torch.zeros_like(self.weights, requires_grad=False),
            }
            self.adam.state[self.weights] = self._moments
        for moment in self._moments.values():
            moment.zero_()

    def outputs(self, obs: Tensor, weights: Tensor | None = None) -> Tensor:
        """See `TorchPPO.outputs`; f32, whatever the matrix products are."""
        half = self.precision == "bf16"
        with (
            products(self.precision),
            torch.autocast(self.device.type, torch.bfloat16, enabled=half, cache_enabled=False),
        ):
            return super().outputs(obs, weights).float()

    @property
    def reward_scale(self) -> Any:
        """See `TorchPPO.reward_scale`; on the device."""
        return self._normal.reward_scale

    # ---- learning

    def learn(self, rollout: Rollout, hyper: Hyper, plan: Plan | None = None) -> None:
        """Learn from a rollout of this device, and wait for nothing. `report` then says how it went, on the device;
        `told` reads it. Raises ValueError for a rollout that is not made of units of `UNIT` samples.
        """
        if rollout.samples % UNIT:
            raise ValueError(f"wanted a rollout of a multiple of {UNIT} samples, got {rollout.samples}")
        plan = plan or self._plan(rollout.advantage, hyper)
        if self._normal.active:
            with torch.no_grad():
                self._normal.unfold(self.weights)
        self._prepare(rollout, hyper, plan)
        for begin, end in itertools.pairwise(plan.bounds):
            size = end - begin
            self._index[:size].copy_(plan.order[begin:end])
            if plan.importance is not None:
                self._factor[:size].copy_(plan.importance[begin:end])
            if self._wants_graph:
                self._recorded(rollout, size, hyper.clip_value).replay()
            else:
                self._minibatch(rollout, size, hyper.clip_value)
        chosen = slice(None) if plan.chosen is None else plan.chosen
        value, returns = (x.flatten()[chosen].double() for x in (rollout.value, rollout.returns))
        self.report[EXPLAINED] = 1 - self._spread(returns - value)[1] / self._spread(returns)[1]
        if self._normal.active:
            with torch.no_grad():
                self._fold(rollout.obs.flatten(0, 1)[chosen], returns)

    def _fold(self, obs: Tensor, returns: Tensor) -> None:
        """Take in what was just learned from, and let the weights play again; see `Normalizer.learned`."""
        normal, fresh = self._normal, self.normalizer.fresh
        if not fresh:
            normal.fold(self.weights)
        for moments, values in ((normal.observations, obs), (normal.returns, returns[:, None])):
            if moments is not None:
                moments.add(*self._spread(values.double()))
        if fresh:
            normal.fold(self.weights)
        self.normalizer.fresh = False

    def _plan(self, advantage: Tensor, hyper: Hyper) -> Plan:
        """As `learners.plan_minibatches`, on the device: near-equal minibatches of units of `UNIT` neighbouring games'
        samples, each once an epoch or, with priorities, drawn.
        """
        units, epochs = advantage.numel() // UNIT, hyper.epochs
        count = self._minibatches(units, hyper)
        bounds = [UNIT * (epoch * units + k * units // count) for epoch in range(epochs) for k in range(count)]
        importance = None
        if hyper.priority_alpha > 0:
            size = advantage.view(units, UNIT).abs().sum(1).double().nan_to_num(posinf=0.0) ** hyper.priority_alpha
            reached = (size + 1e-6).cumsum(0)
            chance = torch.rand(epochs * units, device=self.device, generator=self._generator, dtype=torch.float64)
            order = torch.searchsorted(reached, chance * reached[-1], right=True).clamp(max=units - 1)
            if hyper.minibatch_order == "sequential":
                order = order.view(epochs, units).sort(1).values.flatten()
            factor = (units * (size + 1e-6) / reached[-1]) ** -hyper.priority_beta
            importance = factor[order].float().repeat_interleave(UNIT, output_size=epochs * units * UNIT)
        elif hyper.minibatch_order == "random":
            keys = torch.rand(epochs, units, device=self.device, generator=self._generator)
            order = keys.argsort(1).flatten()
        else:
            order = torch.arange(units, device=self.device).repeat(epochs)
        order = (order[:, None] * UNIT + torch.arange(UNIT, device=self.device)).flatten()
        return Plan(order, importance, [*bounds, epochs * units * UNIT])

    def _minibatches(self, units: int, hyper: Hyper) -> int:
        """Into how many minibatches an epoch is cut."""
        return min(units, max(1, round(units * UNIT / hyper.minibatch_size)))

    def _prepare(self, rollout: Rollout, hyper: Hyper, plan: Plan) -> None:
        """Everything that the minibatches read beside the rollout."""
        largest = max(end - begin for begin, end in itertools.pairwise(plan.bounds))
        if len(self._index) < largest:
            self._index = torch.zeros(largest, dtype=torch.int64, device=self.device)
            self._factor = torch.ones(largest, device=self.device)
            self._graphs.clear()
        if plan.importance is None:
            self._factor.fill_(1.0)
        self._rate.fill_(hyper.learning_rate)
        values = {name: float(getattr(hyper, name)) for name in SCALARS}
        for name in ("max_grad_norm", "target_kl"):  # 0 switches a limit off
            values[name] = values[name] if values[name] > 0 else float("inf")
        for name, value in values.items():
            self._hyper[name].fill_(value)
        self.report.zero_()
        self._stopped.fill_(False)
        self._mean.fill_(0.0)
        self._scale.copy_(self.reward_scale)
        if hyper.normalize_advantages:
            advantage = rollout.advantage.flatten() if plan.chosen is None else rollout.advantage.flatten()[plan.chosen]
            mean, variance, _ = self._spread(advantage.double())
            self._mean.copy_(mean)
            self._scale.copy_(1 / (variance.sqrt() + 1e-8))

    def _recorded(self, rollout: Rollout, size: int, clip_value: bool) -> Any:
        key = (id(rollout), size, clip_value)
        if key not in self._graphs:
            kept = [self.weights, *self._moments.values(), self.report, self._stopped]
            graph = captured(lambda: self._minibatch(rollout, size, clip_value), kept)
            self._graphs[key] = graph, rollout  # the rollout is held, so that no other gets its id
        return self._graphs[key][0]

    def _minibatch(self, rollout: Rollout, size: int, clip_value: bool) -> None:
        """One step from the samples that `_index` names."""
        index = self._index[:size]

        def rows(field: Tensor) -> Tensor:
            return field.flatten(0, 1)[index]

        normal = self._normal
        limits: Any = SimpleNamespace(**self._hyper, clip_value=clip_value)
        loss, parts = self.loss(
            (rows(rollout.obs) - normal.shift) * normal.factor if normal.observations else rows(rollout.obs),
            rows(rollout.action),
            rows(rollout.log_prob),
            rows(rollout.value) * normal.reward_scale,
            (rows(rollout.advantage) - self._mean) * self._scale * self._factor[:size],
            rows(rollout.returns) * normal.reward_scale,
            limits,
            rows(rollout.mask) if rollout.mask.shape[-1] else None,
        )
        with products(self.precision):
            slope = torch.autograd.grad(loss, self.weights)[0]
        with torch.no_grad():
            self._step(slope * self._mask, torch.stack([parts[name] for name in PARTS]).double(), size)

    def _step(self, slope: Tensor, parts: Tensor, size: int) -> None:
        """Adam, unless this minibatch is to be left out, and the sums of the report."""
        count = torch.full((), float(size), dtype=torch.float64, device=self.device)
        slope, parts, count = self._joined(slope, parts, count)
        norm = slope.norm()
        self._stopped |= parts[PARTS.index("approx_kl")] > learners.KL_MARGIN * self._hyper["target_kl"]
        broken = ~torch.isfinite(norm)
        left_out = broken | self._stopped
        self._left_out.copy_(left_out)
        shrink = (self._hyper["max_grad_norm"] / (norm + 1e-6)).clamp(max=1.0)  # as torch's clip_grad_norm_
        torch.mul(slope, shrink, out=self._grad)
        self.weights.grad = self._grad
        self.adam.step()
        ones = torch.ones_like(count)
        learned = torch.cat([parts * count, torch.stack([norm.double(), count, ones])])
        self.report[:SKIPPED] += torch.where(left_out, torch.zeros_like(learned), learned)
        self.report[SKIPPED] += broken & ~self._stopped

    def _spread(self, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean and variance over the first dimension, and their number, f64, of f64 `[N, ...]`."""
        count = torch.full((1,), float(len(values)), dtype=torch.float64, device=self.device)
        total = self._summed(torch.cat([count, values.sum(0).view(-1)]))
        mean = total[1:].view(values.shape[1:]) / total[0]
        return mean, self._summed((values - mean).square().sum(0)) / total[0], total[0]

    def _summed(self, values: Tensor) -> Tensor:
        """Sums over everybody who learns the same network: here nobody else."""
        return values

    def _joined(self, slope: Tensor, parts: Tensor, count: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gradient, parts of the loss and samples of everybody's minibatch."""
        return slope, parts, count

    # ---- for whoever works on the host

    @staticmethod
    def told(report: NDArray) -> dict[str, float]:
        """A `report` that has come to the host, as metrics; without those that nothing was learned for."""
        metrics = {"explained_variance": float(report[EXPLAINED])}
        if report[APPLIED]:
            metrics |= {name: float(report[k] / report[LEARNED]) for k, name in enumerate(PARTS)}
            metrics["grad_norm"] = float(report[GRAD_NORM] / report[APPLIED])
        return metrics

    def update(self, samples: Samples | Rollout, units: np.ndarray, hyper: Hyper) -> dict[str, float]:
        """See `learners.Learner.update`; waits for the metrics. Of a rollout of this device all is learned from."""
        clock = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if self.device.type == "cuda" else []
        if clock:
            clock[0].record()
        if isinstance(samples, Rollout):
            self.learn(samples, hyper)
        else:
            order, importance, bounds = learners.plan_minibatches(self._rng, units, samples.advantage, hyper)
            lanes = np.arange(UNIT)
            order, chosen = ((x[:, None] * UNIT + lanes).ravel() for x in (order, units))
            plan = Plan(
                torch.from_numpy(order).to(self.device),
                torch.from_numpy(importance.repeat(UNIT)).to(self.device),
                (bounds * UNIT).tolist(),
                torch.from_numpy(chosen).to(self.device),
            )
            self.learn(self._resident(samples), hyper, plan)
        if clock:
            clock[1].record()
        report = self.report.cpu().numpy()
        self.skipped += int(report[SKIPPED])
        self._normal.tell()
        return self.told(report) | ({"gpu_time_ms": clock[0].elapsed_time(clock[1])} if clock else {})

    def _resident(self, samples: Samples) -> Rollout:
        """Samples of the host on the device, as a rollout of one decision."""
        count = samples.action.size
        sizes = {"n_obs": self.spec.layers[0], "n_actions": self.spec.n_actions, "terms": ()}
        if self._uploaded is None or self._uploaded.samples != count:
            spec = {**sizes, "masked": samples.mask.size > 0}
            self._uploaded = Rollout.new(1, count, spec, self.device)
        here = self._uploaded
        fields = self._upload(samples)
        here.obs[0] = fields["obs"].transpose(1, 2).reshape(count, -1)
        for name in ("action", "log_prob", "value", "advantage", "returns"):
            getattr(here, name)[0] = fields[name].view(-1)
        if samples.mask.size:
            words = fields["mask"].transpose(1, 2).reshape(count, -1, 1)
            bits = (words >> torch.arange(32, dtype=torch.int32, device=self.device)) & 1
            here.mask[0] = bits.view(count, -1)[:, : self.spec.n_actions] != 0
        return here

    def gradient(self, samples: Samples, units: np.ndarray, hyper: Hyper) -> tuple[np.ndarray, dict[str, float]]:
        """See `learners.Learner.gradient`."""
        self._normal.reward_scale.fill_(self.normalizer.reward_scale)
        return super().gradient(samples, units, hyper)

    def state(self) -> dict[str, np.ndarray]:
        """See `learners.Learner.state`."""
        self._normal.tell()
        return super().state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """See `learners.Learner.restore`."""
        self._moments["step"].fill_(float(state["adam_step"]))
        self._moments["exp_avg"].copy_(torch.from_numpy(state["adam_m"].copy()))
        self._moments["exp_avg_sq"].copy_(torch.from_numpy(state["adam_v"].copy()))
        self._rng = learners.unpack_generator(state["generator_update"])
        self.normalizer.restore(state)
        self._normal.load()
