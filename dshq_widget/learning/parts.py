"""The parts of a training run that every algorithm provides, as protocols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dshq_widget.contract.settings import TrainConfig


def _nothing() -> None:
    """Releases experience whose memory is not reused."""


@dataclass
class Experience:
    """One rollout's samples, ready to learn from."""

    samples: Any
    """Input of the algorithm's learner; `mean_return(units)` is the mean return of those units."""
    units: np.ndarray
    """int64: the units (16 agent steps each) to learn from."""
    stats: np.ndarray
    """f64 `[len(STATS) + n_terms]`: sums over the rollout (dshq_kernels/play/loops.py)."""
    lag: int = 0
    """How many versions the playing policy was behind."""
    done: Callable[[], None] = _nothing
    """Called when nobody reads it any more: its memory may be overwritten."""
    age: float = 0.0
    """`lag` in rollouts of all games: less where a version is made from a part of the games."""

    decisions: int | None = None
    """Of learning sides; None: sixteen for each unit."""

    @property
    def agent_steps(self) -> int:
        """Number of decisions of learning sides."""
        return len(self.units) * 16 if self.decisions is None else self.decisions


@dataclass(frozen=True)
class Progress:
    """Progress of a run, for its learner."""

    config: TrainConfig
    agent_steps: int
    updates: int
    rate: float = 1.0
    """Factor of the learning rate after setbacks."""
    entropy_bonus: float = 0.0
    """Added to the entropy coefficient when a policy stops exploring."""


class Learner(Protocol):
    """Turns experience into a better policy."""

    @property
    def skipped(self) -> int:
        """Minibatches left out so far because their gradient was not finite."""
        ...

    @property
    def player(self) -> Any:
        """The policy for the source; its `blob()` returns flat f32 weights."""
        ...

    def update(self, experience: Experience, progress: Progress) -> dict[str, float]:
        """Make one update. Returns metrics by the flat names of contract/metrics.py."""
        ...

    def schedule(self, progress: Progress) -> dict[str, float]:
        """The settings of the next update, with schedules and setbacks applied; those that are metrics are reported."""
        ...

    def blob(self) -> np.ndarray:
        """The policy's flat f32 weights, a copy."""
        ...

    def load(self, blob: np.ndarray) -> None:
        """Load weights and reset the optimiser's moments."""
        ...

    def state(self) -> dict[str, np.ndarray]:
        """State for exact resuming, besides the weights."""
        ...

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `state` returned; called after `load`."""
        ...


class Source(Protocol):
    """Games, or an environment, that produce experience."""

    @property
    def dropped(self) -> int:
        """Number of chunks of experience discarded because they were too old."""
        ...

    @property
    def memory_mb(self) -> float:
        """Memory of the rollout processes."""
        ...

    def next(self, learner: Any, config: TrainConfig, version: int) -> Experience | None:
        """The next experience, played with `Learner.player` (its version is `version`); None if nothing arrives for a
        while.
        """
        ...

    def mend(self, samples: Any) -> None:
        """Restart games whose samples are not finite."""
        ...

    def forget_before(self, version: int) -> None:
        """Discard samples from policies older than this version."""
        ...

    def state(self) -> dict[str, np.ndarray]:
        """The games' state for an exact continuation; empty if it cannot be saved."""
        ...

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore what `state` returned."""
        ...


class SimpleSource:
    """What most sources have in common (`Source`): nothing is dropped, nothing waits, and nothing is saved."""

    @property
    def dropped(self) -> int:
        return 0

    @property
    def memory_mb(self) -> float:
        return 0.0

    def mend(self, samples: Any) -> None:
        """Nothing has to be restarted here, or whoever plays does it."""

    def forget_before(self, version: int) -> None:
        """Every rollout is played with the newest weights, or what older ones played is learned from, too."""

    def state(self) -> dict[str, np.ndarray]:
        return {}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """A continuation begins new games."""


class Evaluator(Protocol):
    """Measures how good the policy is."""

    @property
    def metrics(self) -> dict[str, float]:
        """The newest results by the flat names of contract/metrics.py."""
        ...

    @property
    def solved(self) -> bool:
        """Whether the policy reached the drill's target."""
        ...

    def pause(self, config: TrainConfig) -> float:
        """Seconds from the end of one evaluation to the next."""
        ...

    def play(self, blob: np.ndarray) -> None:
        """Evaluate these weights now."""
        ...
