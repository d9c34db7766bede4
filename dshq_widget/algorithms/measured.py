"""What an algorithm says of its own speed, for `dshq bench`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dshq_widget.gpu.plug import Work


@dataclass(frozen=True)
class Measured:
    """Rates of an algorithm's learner on one device."""

    rates: Mapping[str, float]
    """By their names in the answer of `dshq bench`, each per second."""
    work: Mapping[str, Work] = field(default_factory=dict)
    """Of one of what a rate counts, by the rate's name; on a GPU of every rate, which is compared with it."""
    said: Mapping[str, Any] = field(default_factory=dict)
    """What else the answer says."""
