"""Which releases of Python and numba this package asks for, and up to which it was tried: the one place that says so.
`tests/contract/test_supported.py` holds pyproject.toml and the build to it. A newer release is taken, with a sentence.
"""

from __future__ import annotations

OLDEST = {"python": (3, 11), "numba": (0, 62)}
NEWEST_TRIED = {"python": (3, 11), "numba": (0, 68)}


def series(version: str) -> tuple[int, ...]:
    """Major and minor number of a version."""
    return tuple(int(part) for part in version.split(".")[:2])


def bounds(name: str) -> str:
    """The range of `python` or `numba` in words."""
    oldest, newest = (".".join(map(str, bound[name])) for bound in (OLDEST, NEWEST_TRIED))
    return f"{oldest} or newer, tried up to {newest}"


def advice(name: str, version: str) -> str:
    """What to say about a release of `python` or `numba`; "" if it was tried."""
    oldest, newest = (".".join(map(str, bound[name])) for bound in (OLDEST, NEWEST_TRIED))
    if series(version) < OLDEST[name]:
        return f"Install {name} {oldest} or newer."
    if series(version) > NEWEST_TRIED[name]:
        return f"Newer than {newest}, the newest that this version was tried with: most will work, untried."
    return ""
