"""The ladder: policies shipped with the package, to play against or to train further. See `tools/ladder.py`."""

from __future__ import annotations

import os
from pathlib import Path

RUNGS = ("bronze", "silver", "gold")
FOLDER = Path(__file__).parents[1] / "drills" / "ladder"


def path(drill: str, rung: str) -> Path:
    """Path of a rung's file, which may not exist."""
    return FOLDER / f"{drill}-{rung}.dshq"


def rungs(drill: str) -> tuple[str, ...]:
    """The rungs that a drill has, weakest first; most drills have none."""
    return tuple(rung for rung in RUNGS if path(drill, rung).is_file())


def full_name(drill: str, given: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """`ball:gold` for `gold`, the name that `resolve` takes; anything else unchanged."""
    return f"{drill}:{given}" if given in RUNGS else given


def resolve(name: str) -> Path | None:
    """The file of a name such as `ball:gold`; None for other text. Raises ValueError if the drill lacks that rung."""
    drill, colon, rung = name.partition(":")
    if not colon or rung not in RUNGS or not drill.isidentifier():
        return None
    if rung not in rungs(drill):
        raise ValueError(f"{drill!r} has no policy {rung!r}; only the built-in drill 'ball' has a ladder")
    return path(drill, rung)
