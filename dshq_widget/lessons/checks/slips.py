"""Usual slips: the numbers that they give, and the hint for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

TOLERANCE = 1e-4


def same(given: Any, wanted: Any, tolerance: float = TOLERANCE) -> bool:
    """Whether two numbers, or arrays of one shape, agree."""
    given, wanted = np.asarray(given, np.float64), np.asarray(wanted, np.float64)
    return given.shape == wanted.shape and bool(np.allclose(given, wanted, rtol=tolerance, atol=tolerance))


def hint(given: Any, slips: Mapping[str, Any], tolerance: float = TOLERANCE) -> list[str]:
    """The hint of the first slip that gives the same; none if no slip does."""
    return next(([text] for text, number in slips.items() if same(given, number, tolerance)), [])
