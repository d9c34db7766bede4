"""The gate as the lesson about it needs it."""

from dshq_widget.algorithms.gate.gate import SimulationGate
from dshq_widget.algorithms.gate.shape import COLUMNS, ROWS

__all__ = ["COLUMNS", "ROWS", "SimulationGate"]
