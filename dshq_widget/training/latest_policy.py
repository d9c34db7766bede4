"""The newest policy of a run, and the memory in which its learner publishes the next ones."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from dshq_widget.policy.network import PolicySpec
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

    @property
    def trained(self) -> bool:
        """Whether anything was learned in a run. Its version does not tell: a run with rollout processes publishes its
        untrained policy as version 1. Nor does this of a file that somebody made.
        """
        return self.step > 0 or self.version > 1

    @property
    def floats(self) -> int:
        """Length of `weights`."""
        return len(self.weights)

    @property
    def drawn(self) -> bool:
        """Whether `weights` are there. If not (untrained.py), whoever asks for them waits until they are drawn."""
        return True

    def draw(self) -> None:
        """Wait until `weights` are there. For large networks nobody does that under the trainer's lock."""

    def fits(self, network: PolicySpec) -> bool:
        """Whether it is a policy of this network."""
        same = (self.layers, self.activation) == (network.layers, network.activation)
        return same and network.fits(self.weights)


class LatestPolicy:
    """Holds the newest complete policy; used under one lock."""

    def __init__(self, policy: PolicyVersion) -> None:
        self._policy = policy
        self._block: SharedBlock | None = None
        self._slots: WeightSlots | None = None
        self._acting: WeightSlots | None = None
        self._began = policy.version
        self._acting_floats = 0
        """Floats of what acts, where that is more than the policy (algorithm.py, `PlayedByProcess`). They have slots of
        their own behind the policy's.
        """

    def newest(self) -> PolicyVersion:
        """The policy that the learner published last. Never waits."""
        if self._slots is not None:
            found = self._slots.read(self._policy.version)
            if found is not None:
                version, step, weights = found
                weights.setflags(write=False)
                before = self._policy
                self._policy = PolicyVersion(version, step, before.layers, before.activation, weights)
        return self._policy

    def arrive(self, policy: PolicyVersion) -> None:
        """A learner that shares no memory has published this; an older one is ignored."""
        if policy.version > self.newest().version:
            self._policy = policy

    def memory(self) -> SharedBlock:
        """The memory in which a new learner continues from the newest policy. Raises MemoryError."""
        self._began = self.newest().version
        return self.block()

    @property
    def offset(self) -> int:
        """Where in the memory the slots of what acts are, in bytes; 0: there are none."""
        from dshq_widget.runtime.slots import WeightSlots  # numba comes with it; keep it out of the import

        return WeightSlots.nbytes_for(self._policy.floats) if self._acting_floats else 0

    def block(self) -> SharedBlock:
        """The memory of this run; always the same until `replace`. Raises MemoryError."""
        from dshq_widget.runtime.memory import SharedBlock
        from dshq_widget.runtime.slots import WeightSlots

        if self._block is None:
            newest, behind = self._policy, WeightSlots.nbytes_for(self._acting_floats) if self._acting_floats else 0
            self._block = SharedBlock.create(WeightSlots.nbytes_for(newest.floats) + behind)
            self._slots = WeightSlots.create(self._block, newest.floats)
            if behind:
                self._acting = WeightSlots.create(self._block, self._acting_floats, self.offset)
            if newest.version:
                self._slots.publish(newest.version, newest.step, newest.weights)
        return self._block

    def share(self, floats: int) -> None:
        """Slots for what acts, of `floats` each, belong to the memory that is made next."""
        self._acting_floats = floats

    def acting(self) -> tuple[int, np.ndarray] | None:
        """What acts as the learner published it last, f32 `[floats]`, and of which version; None if none has yet."""
        found = None if self._acting is None else self._acting.read(0)
        return None if found is None else (found[1], found[2])

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
        self._block = self._slots = self._acting = None
