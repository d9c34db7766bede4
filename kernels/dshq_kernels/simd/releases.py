"""The releases of numba that this package asks for and whose inside it knows: the one place that says which.

`kept` and `shipped` (numba's cache) and `backends/bent_numba.py` (its compiler) reach into numba. With a newer release
`kept` lets numba keep its code by itself, and `bent_numba` is tried: where it fails a sentence says what to do.
`shipped` takes code of exactly one release.
"""

from __future__ import annotations

import numba

OLDEST, NEWEST = (0, 65), (0, 68)
"""Major and minor numbers. 0.68 by the tests; of 0.65 to 0.67 one drill's bits were compared."""


def series(version: str) -> tuple[int, ...]:
    """Major and minor number of a version."""
    return tuple(int(part) for part in version.split(".")[:2])


def text(numbers: tuple[int, ...]) -> str:
    """The series as it is written."""
    return ".".join(map(str, numbers))


def is_known() -> bool:
    """Whether this is a numba whose inside is known."""
    return OLDEST <= series(numba.__version__) <= NEWEST
