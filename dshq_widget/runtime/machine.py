"""The share of this machine that training may use."""

from __future__ import annotations

import dataclasses

from dshq_widget.runtime import budget


@dataclasses.dataclass(frozen=True)
class Machine:
    """The share of this machine that training may use."""

    cpu: float
    """Processors, including fractions."""
    memory: float
    """Bytes."""
    gentle: bool = False
    """Whether a page draws next to the learner and needs a processor."""

    @classmethod
    def this(cls, gentle: bool = False) -> Machine:
        return cls(budget.cpu_budget(), budget.memory_limit(), gentle)

    @property
    def size(self) -> int:
        """Processors to compute on. Next to a page, one less: threads that wait for each other while the page draws
        learn slower than a single thread (measured: docs/LOG.md).
        """
        size = budget.usable_processors(self.cpu)
        return max(1, size - 1) if self.gentle else size
