"""Validation mode: compares the gradient of the learner and of the torch reference on the same minibatch.

Importing this module imports torch.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import numpy as np

from dshq_kernels.play.rollout import Samples
from dshq_kernels.simd.lanes import LANES
from dshq_widget.algorithms.ppo.learners.learner import Hyper, Learner, sequences
from dshq_widget.algorithms.ppo.learners.torch_ppo import TorchPPO
from dshq_widget.algorithms.ppo.recurrent.learner import RecurrentPPO
from dshq_widget.algorithms.ppo.recurrent.rows import by_sequence
from dshq_widget.gpu.rollout import Rollout

TOLERANCE = 1e-3
"""Largest error of a gradient entry that counts as rounding, relative to the entry or to the `scale` of all, whichever
is larger. On minibatches of 4,096 agent steps the largest is about 1e-5 (measured). One sample whose ratio is within
rounding of the clip range can cause a harmless difference: about once in 300 minibatches (estimated).
"""

CANCELLED = 5e-2
"""A mean of samples' slopes smaller than this share of them has lost its digits to rounding (assumed; a policy that has
converged is all noise)."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """The difference between two gradients of the same minibatch."""

    largest_absolute: float
    largest_relative: float
    """Of the larger of the slope and the scale of all slopes."""
    first: int | None
    """Index, in the flat weights, of the first slope beyond the tolerance."""
    count: int
    """How many are beyond it."""
    seed: tuple[int, int]
    """Of the generator that chose the minibatch."""

    def sentence(self) -> str:
        """The warning when the two differ."""
        return (
            f"validation: the learner's gradient differs from the torch reference at {self.count} weights, the "
            f"first is {self.first}; largest absolute error {self.largest_absolute:.3g}, relative "
            f"{self.largest_relative:.3g}, minibatch seed {list(self.seed)}; training continues"
        )


class Validator:
    """Holds the reference: torch on one thread of the CPU."""

    def __init__(self, learner: Learner):
        self.reference = (RecurrentPPO if learner.spec.memory else TorchPPO)(learner.spec)

    def compare(
        self, learner: Learner, samples: Samples | Rollout, units: np.ndarray, hyper: Hyper, seed: tuple[int, int]
    ) -> Finding:
        """Both gradients of one minibatch drawn from the `units` of a rollout, with a memory one of whole sequences;
        neither network changes.
        """
        samples = samples.to_samples() if isinstance(samples, Rollout) else samples
        memory = learner.spec.memory
        rows = sequences(units, samples.length) if memory else units[:, None]
        size = max(1, min(len(rows), hyper.minibatch_size // (LANES * rows.shape[1])))
        chosen = rows[np.sort(np.random.default_rng(seed).choice(len(rows), size, replace=False))].ravel()
        self.reference.load(learner.blob())
        self.reference.normalise_by(copy.deepcopy(learner.normalizer))
        found, _ = learner.gradient(samples, chosen, hyper)
        given: Any = by_sequence(samples, chosen) if memory else samples
        wanted, parts = self.reference.gradient(given, np.arange(chosen.size) if memory else chosen, hyper)
        pull = 1 + hyper.value_coef * learner.normalizer.reward_scale * parts["loss_value"] ** 0.5
        return compare(found, wanted, seed, CANCELLED * pull)


def compare(found: np.ndarray, wanted: np.ndarray, seed: tuple[int, int], least: float = CANCELLED) -> Finding:
    """The difference between two flat f32 gradients; an entry that is NaN in only one of them exceeds any tolerance.

    The scale of all slopes is their root mean square, at least `least`: a part of one sample's typical slope.
    """
    wanted, found = wanted.astype(np.float64), found.astype(np.float64)
    both_none = ~np.isfinite(found) & ~np.isfinite(wanted)
    error = np.where(both_none, 0.0, np.nan_to_num(np.abs(found - wanted), nan=np.inf))
    known = np.where(np.isfinite(wanted), np.abs(wanted), 0.0)
    relative = error / np.maximum(known, max(np.sqrt(np.mean(known**2)), least))
    beyond = np.flatnonzero(relative > TOLERANCE)
    first = int(beyond[0]) if beyond.size else None
    return Finding(float(error.max()), float(relative.max()), first, int(beyond.size), seed)
