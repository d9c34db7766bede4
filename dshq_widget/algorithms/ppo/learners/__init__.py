"""PPO's learners, by name. Losses, optimiser steps and normalisation; no games, no processes. Learners that need torch
import it when they are created.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dshq_widget.algorithms.ppo.learners.learner import Learner
    from dshq_widget.policy.network import PolicySpec


def _fused(spec: PolicySpec, **options: Any) -> Learner:
    from dshq_widget.algorithms.ppo.learners.fused import FusedPPO

    return FusedPPO(spec, **options)


def _torch(spec: PolicySpec, **options: Any) -> Learner:
    from dshq_widget.algorithms.ppo.learners.torch_ppo import TorchPPO

    return TorchPPO(spec, **options)


def _resident(spec: PolicySpec, **options: Any) -> Learner:
    from dshq_widget.algorithms.ppo.learners.resident import ResidentPPO

    return ResidentPPO(spec, **options)


learners: dict[str, Callable[..., Learner]] = {"fused": _fused, "torch": _torch, "resident": _resident}
"""Makers by name: `fused` is the project's own kernels on the CPU, `torch` the reference, `resident` for a GPU."""
