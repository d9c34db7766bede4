"""What a process that plays the page's match starts from, where the policy is more than the network in its files."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dshq_widget.runtime.memory import SharedBlock


@dataclasses.dataclass(frozen=True)
class Shown:
    """`role` is the process. Another `block` is another run: the process starts over."""

    role: str
    block: SharedBlock
    """Memory of the run; behind the slots of the policy are those of what acts (`latest_policy.py`)."""
    job: dict[str, Any]
    """`seed`, `settings` (the algorithm's own), `resume` (a file, or None) and `offset` of the slots; of a person's own
    network also `network`, how it is found.
    """
