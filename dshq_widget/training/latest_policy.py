"""The newest policy of a run, and the memory in which its learner publishes the next ones."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dshq_widget.runtime.memory import SharedBlock
    from dshq_widget.runtime.slots import WeightSlots


@dataclasses.dataclass(frozen=True)
class PolicyVersion:
    """One published policy: `weights` is its blob, f32 `[blob_floats(layers)]`, read-only."""

    version: int
    step: int
    """Agent steps of its training."""
    layers: tuple[int, ...]
    activation: str
    weights: np.ndarray


class LatestPolicy:
    """Holds the newest complete policy; used under one lock."""

    def __init__(self, policy: PolicyVersion) -> None:
        self._policy = policy
        self._block: SharedBlock | None = None
        self._slots: WeightSlots | None = None
        self._began = policy.version

    def newest(self) -> PolicyVersion:
        """The policy that the learner published last. Never waits."""
        if self._slots is not None:
            found = self._slots.read(self._policy.version)
            if found is not None:
                version, step, weights = found
                weights.setflags(write=False)
                self._policy = dataclasses.replace(self._policy, version=version, step=step, weights=weights)
        return self._policy

    def memory(self) -> SharedBlock:
        """The memory in which a new learner continues from the newest policy. Raises MemoryError."""
        from dshq_widget.runtime.memory import SharedBlock  # numba comes with these; keep it out of the import
        from dshq_widget.runtime.slots import WeightSlots

        newest = self.newest()
        self._began = newest.version
        if self._block is None:
            self._block = SharedBlock.create(WeightSlots.nbytes_for(len(newest.weights)))
            self._slots = WeightSlots.create(self._block, len(newest.weights))
            if newest.version:
                self._slots.publish(newest.version, newest.step, newest.weights)
        return self._block

    @property
    def advanced(self) -> bool:
        """Whether the latest learner has published anything."""
        return self.newest().version > self._began

    def replace(self, policy: PolicyVersion) -> None:
        """Switch to another policy, in new memory: a learner that is still ending may write to the old memory."""
        self.release()
        self._policy = policy

    def release(self) -> None:
        """Release the memory; the policy read last stays."""
        if self._block is not None:
            self._block.close()
        self._block = self._slots = None
