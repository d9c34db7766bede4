"""PPO's learner for a run: applies schedules, and checks it against the torch reference at intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np

from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.learners.learner import Learner as PPOLearner
from dshq_widget.contract.torch_needed import torch_missing
from dshq_widget.learning.parts import Experience, Learner, Progress

if TYPE_CHECKING:
    from dshq_widget.algorithms.ppo.learners.validation import Validator


MOST_CORRECTED = 2
"""Rollouts of all games: samples that are older are left to the clip, which then costs fewer agent steps than the
correction (at 4, in CartPole and Approach, measured: benchmarks/rollout_lag.py). Ordinary are 1, and 2 at most.
"""


class PPOUpdate(Learner):
    """`ppo` is one of the learners; `warn` is called if it differs from the reference. `validate` is False for the
    reference itself.
    """

    def __init__(self, ppo: PPOLearner, warn: Callable[[str], None], validate: bool = True) -> None:
        self.ppo, self._warn, self._validate = ppo, warn, validate
        self._validator: Validator | None = None

    @property
    def player(self) -> PPOLearner:
        return self.ppo

    @property
    def skipped(self) -> int:
        return self.ppo.skipped

    def hyper(self, progress: Progress) -> Hyper:
        """The settings of the next update, with schedules and setbacks applied."""
        hyper = Hyper.at(progress.config, progress.agent_steps)
        return replace(
            hyper,
            learning_rate=hyper.learning_rate * progress.rate,
            entropy_coef=hyper.entropy_coef + progress.entropy_bonus,
        )

    def schedule(self, progress: Progress) -> dict[str, float]:
        return {key: value for key, value in asdict(self.hyper(progress)).items() if isinstance(value, (int, float))}

    def update(self, experience: Experience, progress: Progress) -> dict[str, float]:
        if 0 < experience.age <= MOST_CORRECTED and not self.ppo.normalizer.measures:
            if progress.config.normalize_advantages:
                centre(experience.samples.advantage, experience.units)
            self.ppo.correct_lag(experience.samples, experience.units)
        compared = self._compare(experience, progress)
        return self.ppo.update(experience.samples, experience.units, self.hyper(progress)) | compared

    def _compare(self, experience: Experience, progress: Progress) -> dict[str, float]:
        """Every `validate_every` updates, compare both on one minibatch before learning from it. Returns metrics."""
        every = progress.config.validate_every
        if not self._validate or not every or progress.updates % every:
            return {}
        missing = torch_missing("validate_every")
        if missing:
            self._validate = False
            self._warn(f"{missing}; training continues without")
            return {}
        from dshq_widget.algorithms.ppo.learners.validation import Validator  # imports torch

        self._validator = self._validator or Validator(self.ppo)
        seed = (progress.config.seed, progress.updates)
        finding = self._validator.compare(self.ppo, experience.samples, experience.units, self.hyper(progress), seed)
        if finding.first is not None:
            self._warn(finding.sentence())
        return {
            "validation_absolute_error": finding.largest_absolute,
            "validation_relative_error": finding.largest_relative,
        }

    def blob(self) -> np.ndarray:
        return self.ppo.blob()

    def load(self, blob: np.ndarray) -> None:
        self.ppo.load(blob)

    def state(self) -> dict[str, np.ndarray]:
        return self.ppo.state()

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        if "adam_m" in state:
            self.ppo.restore(dict(state))


def centre(advantage: np.ndarray, units: np.ndarray) -> None:
    """Take their mean off these units' advantages, f32 `[all units, 16]`, in place, before they are weighted: weights
    on what all samples share would be a signal made of lag alone.
    """
    advantage[units] -= advantage[units].mean(dtype=np.float64).astype(np.float32)
