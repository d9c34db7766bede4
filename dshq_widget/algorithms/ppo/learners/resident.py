"""PPO on one device: it learns from rollouts on that device (`gpu.play`) without waiting for the host. It computes the
same as `TorchPPO`. Everything that changes between updates, such as step size and clip range, is in tensors with fixed
addresses, so that on a GPU a whole update (order, gather, network, loss, gradient, Adam, normalisers) can be one
graph. Decisions that TorchPPO leaves to the host are sums and flags here: a minibatch with a gradient that is not
finite, and all those after the divergence has reached its limit, are computed and change nothing.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dshq_kernels.play.rollout import Samples
from dshq_kernels.run.draws import Draws
from dshq_widget.algorithms.ppo.learners import learner, losses
from dshq_widget.algorithms.ppo.learners.device_normalizer import DeviceNormalizer
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer
from dshq_widget.algorithms.ppo.learners.torch_ppo import TorchPPO
from dshq_widget.gpu.device import DEVICES, captured, own_network
from dshq_widget.gpu.precision import products
from dshq_widget.gpu.rollout import Rollout
from dshq_widget.learning import seeds
from dshq_widget.policy.network import PolicySpec

PRECISIONS = ("f32", "tf32", "bf16")
"""Precisions of matrix products; weights, losses, moments and sums are always float32."""
UNIT = 16
"""Samples that stay together in a minibatch, as on the processor."""
PARTS = ("loss_policy", "loss_value", "entropy", "approx_kl", "clip_fraction")
GRAD_NORM, LEARNED, APPLIED, SKIPPED, EXPLAINED = range(len(PARTS), len(PARTS) + 5)
"""Places in `report` behind the sums of `PARTS` over samples: the sum of gradient lengths over minibatches, samples and
minibatches learned from, minibatches left out, and the explained variance."""
LIMITS = ("max_grad_norm", "target_kl")
PRIORITIES = ("priority_alpha", "priority_beta")
SCALARS = ("learning_rate", "clip_epsilon", "value_coef", "entropy_coef", *LIMITS, *PRIORITIES)
"""Settings in tensors: they may change between updates, and a CUDA graph reads the current values."""
MOST_GRAPHS = 8
"""Number of prepared updates of different shapes (settings, rollouts) to keep."""


def order_seed(*parts: int) -> int:
    """Seed of the generator of minibatches' orders, apart from that of the games' actions, which is the run's seed."""
    return seeds.apart(*parts, 0x0D3E)


@dataclasses.dataclass(frozen=True)
class Plan:
    """Which samples of a rollout make up which minibatch."""

    order: Tensor
    """i64: indices of samples, all epochs one after the other."""
    importance: Tensor
    """f32 of the same length: factors of their advantages."""
    bounds: list[int]
    """Where each minibatch begins in `order`, and where the last one ends."""
    chosen: Tensor | None = None
    """i64: the samples that are learned from; None: all."""


class ResidentPPO(TorchPPO):
    """See `learners.Learner`; `learn` is the way without the host. `device` is one of torch's, `precision` one of
    `PRECISIONS` (tf32 means something on a GPU only), `graph` records each update. With `kernels` the network is the
    device's own (gpu/device.py), by default where it fits; without them torch's own operations do the same.
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
        kernels: bool | None = None,
    ):
        if precision not in PRECISIONS:
            raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
        if graph and torch.device(device).type not in DEVICES:
            raise ValueError(f"graph=True needs a GPU, got {device!r}")
        self.precision, self._wants_graph = precision, graph
        self._moments: dict[str, Tensor] = {}
        super().__init__(spec, seed=seed, threads=threads, device=device, normalizer=normalizer)
        self._normal = DeviceNormalizer(self.normalizer, self.device)
        self._generator = torch.Generator(self.device).manual_seed(order_seed(seed))
        self._grad = torch.zeros_like(self.weights)
        self._mean, self._scale = torch.zeros((), device=self.device), torch.ones((), device=self.device)
        self._stopped = torch.zeros((), dtype=torch.bool, device=self.device)
        self._left_out = torch.zeros((), device=self.device)  # read by Adam: 1 skips a step
        self.adam.found_inf = self._left_out  # type: ignore[attr-defined]
        self.report = torch.zeros(EXPLAINED + 1, dtype=torch.float64, device=self.device)
        self._rooms: dict[tuple[str, int], Tensor] = {}
        self._graphs: dict[tuple[Any, ...], tuple[Any, Rollout]] = {}
        self._uploaded: Rollout | None = None
        self.network = own_network(spec, self.weights, precision, kernels)
        """The single-launch kernels, if the network is supported."""
        normal = self._normal
        self._scales = {
            **self._hyper,
            "shift": normal.shift,
            "factor": normal.factor,
            "reward_scale": normal.reward_scale,
            "mean": self._mean,
            "scale": self._scale,
        }

    def _forget(self) -> None:
        """Fresh moments, at the addresses of the old ones."""
        if not self._moments:
            self._hyper = {
                name: torch.zeros((), dtype=torch.float64 if name in PRIORITIES else torch.float32, device=self.device)
                for name in SCALARS
            }
            rate, on_gpu = self._hyper["learning_rate"], self.device.type in DEVICES
            self.adam = torch.optim.Adam(
                [self.weights], lr=rate, eps=learner.ADAM_EPSILON, fused=True, capturable=on_gpu
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
        """Learn from a rollout on this device without waiting. The result is in `report`, on the device;
        `report_metrics` reads it. Raises ValueError for a rollout that is not made of units of `UNIT` samples.
        """
        if rollout.samples % UNIT:
            raise ValueError(f"expected a rollout of a multiple of {UNIT} samples, got {rollout.samples}")
        self._settings(hyper)
        how: Plan | Tensor
        if plan is not None:
            how = self._held(plan)
        else:
            how = self._room("chance", hyper.epochs * rollout.samples // UNIT).uniform_(generator=self._generator)
        if self._wants_graph:
            self._recorded(rollout, hyper, how).replay()
        else:
            self._update(rollout, hyper, how)
        self.normalizer.begun()

    def _room(self, name: str, size: int, dtype: torch.dtype = torch.float64) -> Tensor:
        """A tensor `[size]` that keeps its address."""
        if (name, size) not in self._rooms:
            self._rooms[name, size] = torch.zeros(size, dtype=dtype, device=self.device)
        return self._rooms[name, size]

    def _held(self, plan: Plan) -> Plan:
        """The same plan in tensors that keep their addresses."""

        def held(name: str, x: Tensor) -> Tensor:
            return self._room(name, len(x), x.dtype).copy_(x)

        chosen = None if plan.chosen is None else held("chosen", plan.chosen)
        return Plan(held("order", plan.order), held("importance", plan.importance), plan.bounds, chosen)

    def _settings(self, hyper: Hyper) -> None:
        """The numbers that change from update to update; 0 switches a limit off."""
        for name, room in self._hyper.items():
            value = float(getattr(hyper, name))
            room.fill_(value if value > 0 or name not in LIMITS else float("inf"))

    def _recorded(self, rollout: Rollout, hyper: Hyper, how: Plan | Tensor) -> Any:
        """This update, recorded."""
        shape = {f.name: getattr(hyper, f.name) for f in dataclasses.fields(hyper) if f.name not in self._hyper}
        chosen = how.chosen if isinstance(how, Plan) else None
        planned = (tuple(how.bounds), None if chosen is None else len(chosen)) if isinstance(how, Plan) else None
        key = (
            id(rollout),
            *shape.values(),
            hyper.priority_alpha > 0,
            planned,
            self.normalizer.measures,
            self.normalizer.fresh,
        )
        if key not in self._graphs:
            if len(self._graphs) == MOST_GRAPHS:
                self._graphs.clear()
            kept = [self.weights, *self._moments.values(), self.report, self._stopped, *self._normal.tensors()]
            graph = captured(lambda: self._update(rollout, hyper, how), kept, self.device)
            self._graphs[key] = graph, rollout  # keep the rollout, so that no other gets its id
        return self._graphs[key][0]

    def _update(self, rollout: Rollout, hyper: Hyper, how: Plan | Tensor) -> None:
        """The device part of an update; `how` is a plan, or the arguments of `_plan`."""
        plan = how if isinstance(how, Plan) else self._plan(rollout.advantage, hyper, how)
        self.report.zero_()
        if not self.normalizer.measures:
            self._steps(rollout, hyper, plan)
        chosen = slice(None) if plan.chosen is None else plan.chosen
        value, returns = (x.flatten()[chosen].double() for x in (rollout.value, rollout.returns))
        self.report[EXPLAINED] = losses.explained(self._spread(returns - value)[1], self._spread(returns)[1])
        if self._normal.active:
            with torch.no_grad():
                self._fold(rollout.obs.flatten(0, 1)[chosen], returns)

    def _steps(self, rollout: Rollout, hyper: Hyper, plan: Plan) -> None:
        """Learn from all minibatches of the plan."""
        if self._normal.active:
            with torch.no_grad():
                self._normal.unfold(self.weights)
        self._prepare(rollout, hyper, plan)
        for begin, end in itertools.pairwise(plan.bounds):
            self._minibatch(rollout, plan.order[begin:end], plan.importance[begin:end], hyper.clip_value)

    def _fold(self, obs: Tensor, returns: Tensor) -> None:
        """Add the last rollout to the moments and fold the weights; see `Normalizer.learned` and `measured`."""
        normal, measures = self._normal, self.normalizer.measures
        if not measures:
            normal.fold(self.weights)
        for moments, values in ((normal.observations, obs), (normal.returns, returns[:, None])):
            if moments is not None:
                moments.add(*self._spread(values.double()))
        if measures and self.normalizer.fresh:
            normal.fold(self.weights)

    def _plan(self, advantage: Tensor, hyper: Hyper, chance: Tensor) -> Plan:
        """As `learners.plan_minibatches`, on the device: near-equal minibatches of units of `UNIT` neighbouring games'
        samples, each once an epoch or, with priorities, drawn. `chance`: uniform f64 `[epochs * units]`.
        """
        units, epochs = advantage.numel() // UNIT, hyper.epochs
        count = self._minibatches(units, hyper)
        bounds = [UNIT * (epoch * units + k * units // count) for epoch in range(epochs) for k in range(count)]
        factor = torch.ones(epochs * units, device=self.device)
        if hyper.priority_alpha > 0:
            size = advantage.view(units, UNIT).abs().sum(1).double().nan_to_num(posinf=0.0)
            weight = size ** self._hyper["priority_alpha"] + 1e-6
            reached = weight.cumsum(0)
            order = torch.searchsorted(reached, chance * reached[-1], right=True).clamp(max=units - 1)
            if hyper.minibatch_order == "sequential":
                order = order.view(epochs, units).sort(1).values.flatten()
            factor = ((units * weight / reached[-1]) ** -self._hyper["priority_beta"])[order].float()
        elif hyper.minibatch_order == "random":
            order = chance.view(epochs, units).argsort(1).flatten()
        else:
            order = torch.arange(units, device=self.device).repeat(epochs)
        order = (order[:, None] * UNIT + torch.arange(UNIT, device=self.device)).flatten()
        return Plan(order, factor[:, None].expand(-1, UNIT).flatten(), [*bounds, epochs * units * UNIT])

    def _minibatches(self, units: int, hyper: Hyper) -> int:
        """Into how many minibatches an epoch is cut."""
        return min(units, max(1, round(units * UNIT / hyper.minibatch_size)))

    def _prepare(self, rollout: Rollout, hyper: Hyper, plan: Plan) -> None:
        """What all minibatches read."""
        self._stopped.fill_(False)
        self._mean.fill_(0.0)
        self._scale.copy_(self.reward_scale)
        if hyper.normalize_advantages:
            advantage = rollout.advantage.flatten() if plan.chosen is None else rollout.advantage.flatten()[plan.chosen]
            mean, variance, _ = self._spread(advantage.double())
            self._mean.copy_(mean)
            self._scale.copy_(1 / (variance.sqrt() + 1e-8))

    def _minibatch(self, rollout: Rollout, index: Tensor, factor: Tensor, clip_value: bool) -> None:
        """One step from the samples `index`, i64 `[N]`, their advantages times `factor`."""
        size = len(index)
        if self.network is not None:
            self.network.learn(vars(rollout), index, factor, self._scales, self._mask, clip_value)
            self._step(self.network.slope, self.network.parts, size)
            return

        def rows(field: Tensor) -> Tensor:
            return field.flatten(0, 1)[index]

        normal = self._normal
        limits: Any = SimpleNamespace(**self._hyper, clip_value=clip_value)
        loss, parts = self.loss(
            (rows(rollout.obs) - normal.shift) * normal.factor if normal.observations else rows(rollout.obs),
            rows(rollout.action),
            rows(rollout.log_prob),
            rows(rollout.value) * normal.reward_scale,
            (rows(rollout.advantage) - self._mean) * self._scale * factor,
            rows(rollout.returns) * normal.reward_scale,
            limits,
            rows(rollout.mask) if rollout.mask.shape[-1] else None,
        )
        with products(self.precision):
            slope = torch.autograd.grad(loss, self.weights)[0]
        self._step(slope * self._mask, torch.stack([parts[name] for name in PARTS]).double(), size)

    @torch.no_grad()
    def _step(self, slope: Tensor, parts: Tensor, size: int) -> None:
        """Adam step, unless this minibatch is skipped, and the sums of the report."""
        count = torch.full((), float(size), dtype=torch.float64, device=self.device)
        slope, parts, count = self._joined(slope, parts, count)
        if self.network is not None:
            limits = {"margin": learner.KL_MARGIN, "epsilon": learner.ADAM_EPSILON}
            self.network.step(slope, parts, count, self._moments, self._stopped, self.report, self._hyper, **limits)
            return
        norm = slope.norm()
        self._stopped |= parts[PARTS.index("approx_kl")] > learner.KL_MARGIN * self._hyper["target_kl"]
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
        """Sums over all learners of the same network; here there is only this one."""
        return values

    def _joined(self, slope: Tensor, parts: Tensor, count: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gradient, parts of the loss and samples of the joint minibatch."""
        return slope, parts, count

    # ---- on the host

    @staticmethod
    def report_metrics(report: NDArray[Any]) -> dict[str, float]:
        """The metrics in a `report` on the host; some are missing if nothing was learned."""
        metrics = {"explained_variance": float(report[EXPLAINED])}
        if report[APPLIED]:
            metrics |= {name: float(report[k] / report[LEARNED]) for k, name in enumerate(PARTS)}
            metrics["grad_norm"] = float(report[GRAD_NORM] / report[APPLIED])
        return metrics

    def update(self, samples: Samples | Rollout, units: np.ndarray, hyper: Hyper) -> dict[str, float]:
        """See `learners.Learner.update`; waits for the metrics. From a rollout on this device it learns from all
        samples.
        """
        clock = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if self.device.type in DEVICES else []
        if clock:
            clock[0].record()
        if isinstance(samples, Rollout):
            self.learn(samples, hyper)
        else:
            draws = Draws(0) if self.normalizer.measures else self._draws  # nothing is drawn for moments
            order, importance, bounds = learner.plan_minibatches(draws, units, samples.advantage, hyper)
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
        self._normal.store()
        return self.report_metrics(report) | ({"gpu_time_ms": clock[0].elapsed_time(clock[1])} if clock else {})

    def _resident(self, samples: Samples) -> Rollout:
        """Samples of the host on the device, as a rollout of one decision."""
        count = samples.action.size
        if self._uploaded is None or self._uploaded.samples != count:
            masks = self.spec.n_actions if samples.mask.size else 0
            self._uploaded = Rollout.new(1, count, self.spec.layers[0], masks, 0, self.device)
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
        self._normal.store()
        return {**super().state(), "train.order": self._generator.get_state().cpu().numpy()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """See `learners.Learner.restore`."""
        self._moments["step"].fill_(float(state["adam_step"]))
        self._moments["exp_avg"].copy_(torch.from_numpy(state["adam_m"].copy()))
        self._moments["exp_avg_sq"].copy_(torch.from_numpy(state["adam_v"].copy()))
        self._draws = Draws.restored(state["generator_update"])
        if "train.order" in state and len(state["train.order"]) == len(self._generator.get_state()):
            self._generator.set_state(torch.from_numpy(state["train.order"].copy()))
        self.normalizer.restore(state)
        self._normal.load()
