"""What a training run is put together from: the parts that every algorithm brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dshq_widget.contract.settings import TrainConfig


def _nothing() -> None:
    """What is done with experience that needs no giving back."""


@dataclass
class Experience:
    """One rollout's samples, ready to learn from."""

    samples: Any
    """What the algorithm's learner reads; its `mean_return(units)` is the mean return of those units."""
    units: np.ndarray
    """int64: which of them are learned from, in units of 16 agent steps."""
    stats: np.ndarray
    """f64 `[len(STATS) + n_terms]`: sums over the rollout (dshq_kernels/play/loops.py)."""
    lag: int = 0
    """Versions that the policy which played was behind."""
    done: Callable[[], None] = _nothing
    """Called once it has been learned from: its memory may be written again."""

    @property
    def agent_steps(self) -> int:
        """Decisions of learning sides in it."""
        return len(self.units) * 16


@dataclass(frozen=True)
class Progress:
    """How far a run has come, as its learner needs to know."""

    config: TrainConfig
    agent_steps: int
    updates: int
    rate: float = 1.0
    """What setbacks have made of the learning rate, as a factor."""
    entropy_bonus: float = 0.0
    """Added to the entropy coefficient while a policy does not explore."""


class Learner(Protocol):
    """Turns experience into a better policy."""

    @property
    def skipped(self) -> int:
        """Minibatches left out so far because their gradient was not finite."""
        ...

    @property
    def player(self) -> Any:
        """What the source plays with; its `blob()` is the policy's flat f32 weights."""
        ...

    def update(self, experience: Experience, progress: Progress) -> dict[str, float]:
        """Learn from it once. -> metrics by the flat names of protocol.py."""
        ...

    def schedule(self, progress: Progress) -> dict[str, float]:
        """The settings of the next update, schedules and setbacks applied; those that are metrics are reported."""
        ...

    def blob(self) -> np.ndarray:
        """The policy's flat f32 weights, a copy."""
        ...

    def load(self, blob: np.ndarray) -> None:
        """Take over weights and forget the optimiser's moments."""
        ...

    def state(self) -> dict[str, np.ndarray]:
        """What exact resuming needs beside the weights."""
        ...

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over what `state` returned; called after `load`."""
        ...


class Source(Protocol):
    """Games, or an environment, that yield experience."""

    @property
    def dropped(self) -> int:
        """Chunks of experience that were thrown away because they were too old."""
        ...

    @property
    def memory_mb(self) -> float:
        """Memory of the processes that play beside the learner's."""
        ...

    def next(self, learner: Any, config: TrainConfig, version: int) -> Experience | None:
        """Play with the policy of a `Learner.player`, which is `version`; None where nothing has come for a while."""
        ...

    def mend(self, samples: Any) -> None:
        """Begin those games again whose samples are not finite."""
        ...

    def forget_before(self, version: int) -> None:
        """Throw away what policies older than this version have played."""
        ...

    def state(self) -> dict[str, np.ndarray]:
        """What an exact continuation needs of the games; empty where they cannot be saved."""
        ...

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take over what `state` returned."""
        ...


class Evaluator(Protocol):
    """Says how good the policy is."""

    @property
    def metrics(self) -> dict[str, float]:
        """The newest findings by the flat names of protocol.py."""
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
