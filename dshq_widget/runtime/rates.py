"""How often a second something can be done."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

ROUNDS = 3
"""At least."""


def rate(
    call: Callable[[], Any],
    work: float,
    seconds: float,
    wait: Callable[[], object] = lambda: None,
    least: int = ROUNDS,
) -> float:
    """`work` per second of the fastest round, one of at least `least` and of as many as `seconds` allow, after one that
    does not count. `wait` returns when what `call` began is done.
    """
    call()
    wait()
    best, rounds, end = float("inf"), 0, time.perf_counter() + seconds
    while rounds < least or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        wait()
        best = min(best, time.perf_counter() - begin)
        rounds += 1
    return work / best
