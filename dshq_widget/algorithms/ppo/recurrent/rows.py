"""A rollout's samples in the order in which the learner in torch takes them."""

from __future__ import annotations

import dataclasses

import numpy as np

from dshq_kernels.play.rollout import Samples
from dshq_widget.algorithms.ppo.learners.learner import sequences


@dataclasses.dataclass
class Rows:
    """Samples sequence after sequence (`recurrent/learner.py`, `Sequences`); `states` is f32 `[n, 16, 2 memory]`, the
    rest as in `Samples`.
    """

    obs: np.ndarray
    action: np.ndarray
    log_prob: np.ndarray
    value: np.ndarray
    advantage: np.ndarray
    returns: np.ndarray
    mask: np.ndarray
    begins: np.ndarray
    states: np.ndarray

    @property
    def length(self) -> int:
        """Decisions of a sequence."""
        return len(self.action) // len(self.states)


def by_sequence(samples: Samples, units: np.ndarray) -> Rows:
    """These units, which are those of whole sequences, as a copy."""
    order = sequences(units, samples.length)
    fields = {field.name: getattr(samples, field.name) for field in dataclasses.fields(Rows)}
    states = fields.pop("states")[order[:, 0] // (2 * samples.length) * 2 + order[:, 0] % 2].transpose(0, 2, 1)
    return Rows(**{name: array[order.ravel()] for name, array in fields.items()}, states=states.copy())
