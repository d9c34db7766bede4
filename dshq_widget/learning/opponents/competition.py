"""The plug for what rates a run's policies against one another, and has earlier ones as opponents.

`competitions.py` names what there is. A run asks its `Contest`, kernel and command line ask the `Competition`.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dshq_widget.contract.game_spec import Game
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.learning.run import Companion
from dshq_widget.policy.checkpoint import Checkpoint
from dshq_widget.policy.network import PolicySpec


class Contest(Companion):
    """A competition's part in one run. It sends its table as LEAGUE (protocol.py, learner_to_kernel)."""

    @property
    def opponents(self) -> Sequence[np.ndarray]:
        """The policies that `draw` returned last, also before a resumption."""
        raise NotImplementedError

    def draw(self, count: int) -> Sequence[np.ndarray]:
        """`count` earlier policies to play against until the next draw, flat f32 weights each."""
        raise NotImplementedError

    def weights_of(self, version: int) -> np.ndarray:
        """f32, the flat weights of an earlier version. Raises ConfigError if it does not have that."""
        raise NotImplementedError


@dataclasses.dataclass(frozen=True)
class Competition:
    """A kind of competition."""

    contest: Callable[[CompiledDrill, PolicySpec, TrainConfig], Contest]
    """Makes its part in a run on a drill."""
    policy: Callable[[CompiledDrill, Checkpoint, int | None], Checkpoint]
    """`saved` with the weights of a version in it, of None the champion's. Raises CheckpointError for a file without
    a competition, or without that version.
    """
    keep_best: Callable[[str | os.PathLike[str], Game], dict[str, Any] | None]
    """Leaves the better of latest and champion in a run's file, and says {version, latest, why, ...}; None where the
    file has no competition.
    """
