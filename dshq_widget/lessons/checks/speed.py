"""Whether somebody's count of a network's arithmetic, and the floor they make of it, hold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

NETWORKS = ((28, 64, 64, 31), (4, 64, 64, 3), (10, 20))
WORK = ((15_744.0, 132.0, 60e9, 10e9), (20.0, 400.0, 60e9, 10e9), (1e6, 1e3, 5e10, 2e10), (3.0, 64.0, 1e11, 5e9))
"""Operations, bytes, operations a second, bytes a second."""
BINDS = ("arithmetic", "memory")
TOLERANCE = 1e-6
DONE = (
    "You can say how fast a thing could be before you measure how fast it is. The distance between the two is all "
    "that is left to gain."
)


def network_flops(layers: Sequence[int]) -> int:
    """Multiplications and additions of one forward pass, biases and activations left out."""
    return sum(2 * n_in * n_out for n_in, n_out in itertools.pairwise(layers))


def reference(flops: float, moved: float, peak: float, bandwidth: float) -> tuple[float, str]:
    """Seconds that the work takes at least, and which of the two needs them."""
    times = flops / peak, moved / bandwidth
    return max(times), BINDS[times[1] > times[0]]


def missing(flops: Callable[..., Any], floor: Callable[..., Any]) -> list[str]:
    """What `flops(layers)` and `floor(flops, moved, peak, bandwidth)` still lack."""
    for layers in NETWORKS:
        counted, wanted = flops(layers), network_flops(layers)
        if counted is None:
            return ["`flops` returns nothing: end it with `return` and the number."]
        answer = float(counted)
        if answer == wanted:
            continue
        if answer == wanted // 2:
            return ["`flops` counts one operation for each weight; each is multiplied AND added: two."]
        if answer == 2 * math.prod(layers):
            return ["`flops` multiplies all the widths; layers follow each other, so their products are added."]
        return [f"`flops({layers})` should be {wanted:,}; yours is {answer:,.12g}. Each weight costs two operations."]
    for work in WORK:
        answer, (least, binding) = floor(*work), reference(*work)
        if not (isinstance(answer, (tuple, list)) and len(answer) == 2):
            return ['`floor` should return two things: seconds, and "arithmetic" or "memory".']
        seconds, binds = answer
        text = ", ".join(f"{part:g}" for part in work)
        if abs(float(seconds) - sum((work[0] / work[2], work[1] / work[3]))) < TOLERANCE * least:
            return [
                "`floor` adds the two times. A processor moves memory while it calculates, so only the longer one "
                "is a floor: `max`."
            ]
        if not abs(float(seconds) - least) <= TOLERANCE * least:
            return [f"`floor({text})` should be {least:.3g} s; yours is {float(seconds):.3g} s."]
        if binds != binding:
            return [f"`floor({text})` has the time right, but what binds there is {binding!r}, not {binds!r}."]
    return []
