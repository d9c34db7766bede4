"""Learners: each turns a rollout's samples into a better policy. Torch is imported by the one learner that needs it,
when made.

Every learner has `update(samples, units, hyper) -> metrics`, `gradient`, `blob()`, `load(blob)`, `state()`,
`restore(state)` and `skipped`, the number of minibatches left out because their gradient was not finite. It is made
from a `PolicySpec` and, where asked for, a `Normalizer`; what goes in and comes out is never normalised.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from dshq_kernels.run import minibatches
from dshq_kernels.run.draws import Draws
from dshq_kernels.simd.lanes import LANES
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.learning.schedule import clip_factor, rate_factor, share_done
from dshq_widget.policy.network import PolicySpec

if TYPE_CHECKING:
    from dshq_kernels.play.rollout import Samples
    from dshq_widget.algorithms.ppo.learners.normalizer import Normalizer

ADAM_EPSILON = 1e-8
"""Adam's own default. Huang et al. 2022, detail 3, has 1e-5; on the Ball Drill (measured) one seed learned much sooner
with 1e-8, another about alike."""
ORDERS = 0xBA7C4
"""Of the draws of minibatches' orders, beside the seed."""
KL_MARGIN = 1.5
"""An update stops once the divergence exceeds this many times the target, after Stable-Baselines3's `ppo.py`."""


@dataclasses.dataclass(frozen=True)
class Hyper:
    """Settings of one update, with schedules applied; units and ranges in `settings.TrainConfig`."""

    learning_rate: float = 3e-3
    epochs: int = 1
    minibatch_size: int = 4096
    clip_epsilon: float = 0.2
    clip_value: bool = False
    value_coef: float = 0.5
    entropy_coef: float = 0.003
    max_grad_norm: float = 0.5
    target_kl: float = 0.0
    normalize_advantages: bool = True
    minibatch_order: str = "random"
    priority_alpha: float = 0.0
    priority_beta: float = 0.4

    @classmethod
    def at(cls, config: TrainConfig, agent_steps: float) -> Hyper:
        """The settings in force after `agent_steps`: rate and clip range as schedule.py says, the entropy bonus falls
        linearly to 0, and `priority_beta` rises as in `priorities`' source.
        """
        done = share_done(config, agent_steps)
        values = {field.name: getattr(config, field.name) for field in dataclasses.fields(cls)}
        values["learning_rate"] *= rate_factor(config, agent_steps)
        values["clip_epsilon"] *= clip_factor(config, agent_steps)
        if config.lr_schedule != "constant":
            values["entropy_coef"] *= 1 - done
        values["priority_beta"] += (1 - config.priority_beta) * config.priority_alpha * done
        values["priority_beta"] = min(1.0, values["priority_beta"])
        return cls(**values)


class Learner(Protocol):
    """The interface of all learners."""

    spec: PolicySpec
    normalizer: Normalizer
    skipped: int

    def update(self, samples: Samples, units: np.ndarray, hyper: Hyper) -> dict[str, float]:
        """Learn from the `units` (int64 indices) of a rollout; returns metrics by the names of contract/metrics.py."""
        ...

    def correct_lag(self, samples: Samples, units: np.ndarray) -> None:
        """Prepare samples of an earlier policy for `update`, in place: `log_prob` becomes that of the newest policy,
        and the advantages are weighted (dshq_kernels/network/update.py, `_correct_lag`).
        """
        ...

    def gradient(self, samples: Samples, units: np.ndarray, hyper: Hyper) -> tuple[np.ndarray, dict[str, float]]:
        """The loss's gradient over `units` as one minibatch, flat f32 (of the normalised weights), and the loss's
        parts; changes nothing.
        """
        ...

    def blob(self) -> np.ndarray:
        """The policy's flat float32 weights, a copy."""
        ...

    def load(self, blob: np.ndarray) -> None:
        """Load weights and reset the optimiser's moments; raises ValueError for weights of a different network."""
        ...

    def state(self) -> dict[str, np.ndarray]:
        """State for exact resuming, besides the weights: `adam_m`, `adam_v`, `adam_step`, `generator_update`, and
        `normalizer...`.
        """
        ...

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `state` returned; call it after `load`."""
        ...


def priorities(advantage: np.ndarray, alpha: float, beta: float) -> tuple[np.ndarray, np.ndarray]:
    """How likely each unit is drawn, and by which factor its advantages then count; f64 `[n]` each. `advantage` is f32
    `[n, k]`.
    """
    chance, factor = np.empty((2, len(advantage)))
    whole = np.ascontiguousarray(advantage, np.float32)
    minibatches.priorities(np.arange(len(whole)), 1, whole, float(alpha), float(beta), chance, factor)
    return chance, factor


def plan_minibatches(
    draws: Draws, units: np.ndarray, advantage: np.ndarray, hyper: Hyper, length: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The order of units over all epochs, int64; a factor of the advantages for each, f32; and where each minibatch
    begins and the last one ends, int64: dshq_kernels/run/minibatches.py.

    Minibatches have about `minibatch_size` samples. `advantage` is f32 `[all units, k]`. With a memory whole sequences
    of `length` decisions are drawn: all steps of sixteen games of one side, in their order.
    """
    begins = units[(units >> 1) % length == 0].astype(np.int64)
    n, epochs = len(begins), hyper.epochs
    count = min(max(1, round(n * LANES / max(LANES, hyper.minibatch_size // length))), n)
    order, bounds = np.empty(epochs * n * length, np.int64), np.empty(epochs * count + 1, np.int64)
    importance = np.empty(len(order), np.float32)
    minibatches.plan(
        draws.generator,
        begins,
        length,
        np.ascontiguousarray(advantage, np.float32),
        epochs,
        count,
        hyper.minibatch_order == "random",
        float(hyper.priority_alpha),
        float(hyper.priority_beta),
        np.empty((2, n)),
        np.empty(epochs * n, np.int64),
        order,
        importance,
        bounds,
    )
    return order, importance, bounds


def sequences(units: np.ndarray, length: int) -> np.ndarray:
    """Units of whole sequences as int64 `[sequences, length]`. They lie as `[groups, length, 2]` (`Samples.length`)."""
    of_sequence = units // (2 * length) * 2 + units % 2
    return units[np.lexsort((units, of_sequence))].reshape(-1, length)


def check(spec: PolicySpec, blob: np.ndarray) -> None:
    """Raises ValueError for flat weights of a different network."""
    if not spec.fits(blob):
        raise ValueError(
            "these weights do not belong to a network of layers "
            f"{list(spec.layers)}{' in two halves with nothing between them' if spec.separate else ''}: they have "
            f"shape {blob.shape}; use weights of the same network with the same separate_value_net"
        )
