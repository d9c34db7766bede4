"""Dreamer as the learner of a run, and what it adds to the run's metrics."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch

from dshq_widget.algorithms.dreamer.model.agent import Dreamer
from dshq_widget.algorithms.dreamer.model.tensors import from_arrays, to_arrays
from dshq_widget.algorithms.dreamer.source import DreamerGames
from dshq_widget.learning.parts import Experience, Learner, Progress
from dshq_widget.learning.run import Companion, Run
from dshq_widget.pixels.ring import ReplayRing
from dshq_widget.policy.checkpoint import MAX_FILE_BYTES
from dshq_widget.runtime.slots import WeightSlots

WEIGHTS, ACTING = "train.dreamer.agent.", "train.dreamer.acting"
MOST_STATE = MAX_FILE_BYTES // 4 * 3
"""Bytes of weights and moments that leave room for the replay ring in a policy file."""


class DreamerLearner(Learner):
    """`blob` is a network of `floats` zeros, which stands for the policy where a network is wanted: the policy itself
    acts on latents (docs/explain/dreamer.md). Its weights are in the run's files, and published by `DreamerReport`.
    """

    def __init__(self, dreamer: Dreamer, floats: int, warn: Callable[[str], None], ring: ReplayRing) -> None:
        """Sequences come from `ring`; if that keeps a memory, it is kept up to date."""
        self.dreamer, self._floats, self._warn, self._ring = dreamer, floats, warn, ring
        self.restored = False

    @property
    def skipped(self) -> int:
        return self.dreamer.skipped

    @property
    def player(self) -> Dreamer:
        return self.dreamer

    def update(self, experience: Experience, progress: Progress) -> dict[str, float]:
        samples, ring = experience.samples, self._ring
        remember = (lambda states: ring.refresh(samples, states.memory)) if ring.remembered else None
        return self.dreamer.learn(samples, progress.rate, remember)

    def schedule(self, progress: Progress) -> dict[str, float]:
        return {"learning_rate": self.dreamer.settings.learning_rate * progress.rate}

    def blob(self) -> np.ndarray:
        return np.zeros(self._floats, np.float32)

    def load(self, blob: np.ndarray) -> None:
        """Fresh moments. The weights stay: no step was made with a gradient that was not finite."""
        self.dreamer.forget_moments()

    def state(self) -> dict[str, np.ndarray]:
        """Weights, moments and the generator; without moments where a file cannot hold them, and a warning."""
        found = to_arrays(WEIGHTS, self.dreamer.state())
        if sum(row.nbytes for row in found.values()) <= MOST_STATE:
            return found
        self._warn(
            "a policy file cannot hold the optimiser's moments of this size: a run from it starts with fresh ones"
        )
        return to_arrays(WEIGHTS, self.dreamer.state(moments=False))

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Raises ValueError for weights of another size. Without any, as in a file from before training, nothing
        changes.
        """
        self.restored = take_over(self.dreamer, state)


def take_over(dreamer: Dreamer, state: Mapping[str, np.ndarray]) -> bool:
    """Take over the weights in a file: all of them; what plays and dreams, of a file that a page saved; or both, where
    that is newer. False if it has none. Raises ValueError for weights of another size.
    """
    found = from_arrays(WEIGHTS, state)
    if found:
        dreamer.restore(found)
    if ACTING in state:
        dreamer.act_with(torch.from_numpy(state[ACTING].copy()))
    return bool(found) or ACTING in state


class DreamerReport(Companion):
    """Adds replay to the metrics, passes on changed settings, and publishes what acts in `slots`, if somebody watches:
    there `step` is the policy's version.
    """

    def __init__(self, dreamer: Dreamer, games: DreamerGames, slots: WeightSlots | None) -> None:
        self.dreamer, self.games, self.slots = dreamer, games, slots

    @property
    def metrics(self) -> dict[str, float]:
        games, ring = self.games, self.games.actor.ring
        return {
            "buffer_size": min(ring.total, ring.capacity) * ring.num_envs,
            "replay_ratio": games.replayed / max(games.played, 1),
        }

    def begin(self, run: Run) -> None:
        self._publish(run)

    def after_update(self, run: Run, experience: Experience, learned: Mapping[str, float]) -> None:
        self._publish(run)

    def _publish(self, run: Run) -> None:
        if self.slots is not None:
            self.slots.publish(self.slots.latest + 1, run.version, self.dreamer.acting().numpy())
