"""PPO by several processes that share one network: each has its own device, games and part of every minibatch.

Advantages are normalised over all samples, each step uses the mean gradient over all parts of the minibatch, and the
decision to skip a step uses joint numbers. So all weights stay equal, as if one process had the joint batch. nccl
carries the sums between GPUs, gloo between processors.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed

from dshq_kernels.play.rollout import Samples
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.resident import UNIT, ResidentPPO, order_seed
from dshq_widget.gpu.device import join as join_as
from dshq_widget.gpu.rollout import Rollout
from dshq_widget.policy.network import PolicySpec

SECONDS = 60.0
"""How long to wait for the others (assumed: compiling a drill's kernels takes less)."""


class LearnerLost(RuntimeError):
    """Another of the joint learners has ended, or does not respond. The message is one sentence."""

    def __init__(self, size: int):
        super().__init__(
            f"one of the {size} joint learners has ended or does not respond: start all of them again; the last saved "
            "file continues"
        )


def join(where: str, rank: int, size: int, device: str = "cpu", seconds: float = SECONDS) -> None:
    """Meet the other processes: `where` is "tcp://HOST:PORT" of rank 0, "file:///PATH" on one machine, or "env://"
    under torchrun. Raises RuntimeError if they do not all arrive within `seconds`.
    """
    backend = join_as(device)
    try:
        distributed.init_process_group(
            backend, init_method=where, rank=rank, world_size=size, timeout=timedelta(seconds=seconds)
        )
    except RuntimeError as error:
        raise RuntimeError(f"not all {size} joint learners reached {where} within {seconds:g} s") from error


def leave() -> None:
    """The counterpart of `join`."""
    distributed.destroy_process_group()


class JointPPO(ResidentPPO):
    """See `ResidentPPO`; `hyper.minibatch_size` counts the samples of all processes. Make it after `join`, with the
    same arguments everywhere: all begin with the weights of rank 0.
    """

    def __init__(self, spec: PolicySpec, *, seed: int = 0, **options: Any):
        self.size, self.rank = distributed.get_world_size(), distributed.get_rank()
        self._joint_units: dict[int, tuple[int, int]] = {}
        super().__init__(spec, seed=seed, **options)
        self._generator.manual_seed(order_seed(seed, self.rank))
        with torch.no_grad():
            self.weights.mul_(float(self.rank == 0))
            self.weights.copy_(self._summed(self.weights.detach().clone()))

    def update(self, samples: Samples | Rollout, units: np.ndarray, hyper: Hyper) -> dict[str, float]:
        """See `ResidentPPO.update`. Raises TypeError for samples of the host."""
        if not isinstance(samples, Rollout):
            raise TypeError("joint learners need rollouts on their own device, not samples on the host")
        return super().update(samples, units, hyper)

    def _minibatches(self, units: int, hyper: Hyper) -> int:
        if units not in self._joint_units:  # the only place where the host waits
            counts = torch.zeros(self.size, dtype=torch.int64, device=self.device)
            counts[self.rank] = units
            everybodys = self._summed(counts).tolist()
            self._joint_units[units] = sum(everybodys), min(everybodys)
        joint, least = self._joint_units[units]
        return min(least, max(1, round(joint * UNIT / hyper.minibatch_size)))

    def _summed(self, values: Tensor) -> Tensor:
        try:
            distributed.all_reduce(values)
        except RuntimeError as error:
            raise LearnerLost(self.size) from error
        return values

    def _joined(self, slope: Tensor, parts: Tensor, count: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        joint = self._summed(torch.cat([slope.double() * count, parts * count, count[None]]))
        slopes, sums, total = joint.split([len(slope), len(parts), 1])
        return (slopes / total).float(), sums / total, total[0]
