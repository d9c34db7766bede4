"""What rank 0 tells the other processes of a joint run, in order, through the processes' own group.

| order | with | the others |
|---|---|---|
| `BEGIN` | `drill`, `hyper` as JSON, `version` | make their games and their learner |
| `PLAY` | `hyper` | play a rollout, and give back its statistics |
| `LEARN` | `hyper` of the update | learn from it |
| `LOAD` | `blob` | take these weights, with fresh moments |
| `RESTORE` | `state` | take the optimiser's state |
| `OPPONENTS`, `SCENES` | `policies`, `scenes` | play against these, practise from these |
| `MEND` | | restart games whose samples are not finite |
| `WAIT` | | wait for the next order as long again: rank 0 rests |
| `END` | | give back a digest of their weights, and end |
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import distributed

from dshq_widget.algorithms.ppo.learners.joint import LearnerLost, join
from dshq_widget.algorithms.torchrun import Place
from dshq_widget.gpu.device import choose_device

LONGEST = 600.0
"""Seconds that the others wait for an order: longer than compiling, judging and saving take (assumed)."""
REST = 60.0
"""Seconds of rest after which rank 0 says that it is there."""
T = TypeVar("T")


class Orders:
    """Made by every process, and all wait there for one another. Raises RuntimeError where one does not come; then
    everything here raises LearnerLost where one has ended.
    """

    def __init__(self, place: Place) -> None:
        self.place, self.given = place, time.monotonic()
        found = choose_device("auto")
        join("env://", place.rank, place.size, "cpu" if found == "cpu" else f"{found}:{place.local}", LONGEST)

    def give(self, kind: str, **what: Any) -> None:
        """Rank 0: tell the others."""
        self._told([{"kind": kind, **what}])
        self.given = time.monotonic()

    def rest(self) -> None:
        """Rank 0, again and again while it rests: the others continue waiting, however long that takes."""
        if time.monotonic() - self.given >= REST:
            self.give("WAIT")

    def next(self) -> dict[str, Any]:
        """The others: wait for the next order."""
        return self._told([None])[0]

    def _told(self, box: list[Any]) -> list[Any]:
        self._together(lambda: distributed.broadcast_object_list(box, 0, device=torch.device("cpu")))
        return box

    def gather(self, found: T) -> list[T]:
        """What every process has found, by rank; on rank 0 alone, empty elsewhere."""
        every: list[Any] = [None] * self.place.size
        self._together(lambda: distributed.all_gather_object(every, found))
        return every if self.place.rank == 0 else []

    def _together(self, do: Callable[[], object]) -> None:
        try:
            do()
        except RuntimeError as error:
            raise LearnerLost(self.place.size) from error
