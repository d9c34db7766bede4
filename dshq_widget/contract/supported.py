"""Which releases of Python and numba this package asks for, and up to which it was tried: the one place that says so,
beside the kernels' own of numba. `tests/contract/test_supported.py` holds pyproject.toml and the build to both. A newer
release is taken, with a sentence.
"""

from __future__ import annotations

from dshq_kernels.simd import releases
from dshq_kernels.simd.releases import series, text

OLDEST = {"python": (3, 11), "numba": releases.OLDEST}
NEWEST_TRIED = {"python": (3, 13), "numba": releases.NEWEST}
AND_NEWER = {
    "python": "most will work, untried",
    "numba": "most will work, untried and with a longer first training; training in a page may ask for an older one",
}


def bounds(name: str) -> str:
    """The range of `python` or `numba` in words."""
    oldest, newest = text(OLDEST[name]), text(NEWEST_TRIED[name])
    return f"{oldest} or newer, tried up to {newest}"


def advice(name: str, version: str) -> str:
    """What to say about a release of `python` or `numba`; "" if it was tried."""
    oldest, newest = text(OLDEST[name]), text(NEWEST_TRIED[name])
    if series(version) < OLDEST[name]:
        return f"Install {name} {oldest} or newer."
    if series(version) > NEWEST_TRIED[name]:
        return f"Newer than {newest}, the newest that this version was tried with: {AND_NEWER[name]}."
    return ""
