"""The gate: a trainer that never stops, and a simulation whose judgement of each proposal is the cost function."""

from __future__ import annotations

from typing import Any

from dshq_widget.algorithms.algorithm import Algorithm, OneProcess, Processes
from dshq_widget.algorithms.gate.settings import GateSettings


def start(drill: Any, *others: Any) -> Processes:
    """See `algorithm.Start`."""
    return OneProcess("dshq_widget.algorithms.gate.run:run", drill.to_json(), *others)


ALGORITHM = Algorithm("gate", start, settings=GateSettings)
