"""The ladder: policies that come with the package, to play against and to train on from. See `tools/ladder.py`."""

from __future__ import annotations

from pathlib import Path

RUNGS = ("bronze", "silver", "gold")
FOLDER = Path(__file__).parents[1] / "drills" / "ladder"


def path(drill: str, rung: str) -> Path:
    """Where the file of a rung lies, or would."""
    return FOLDER / f"{drill}-{rung}.dshq"


def rungs(drill: str) -> tuple[str, ...]:
    """The rungs that a drill has, weakest first; most drills have none."""
    return tuple(rung for rung in RUNGS if path(drill, rung).is_file())


def resolve(name: str) -> Path | None:
    """The file behind `ball:gold`; None for what is no such name. Raises ValueError where the drill lacks that rung."""
    drill, colon, rung = name.partition(":")
    if not colon or rung not in RUNGS or not drill.isidentifier():
        return None
    if rung not in rungs(drill):
        raise ValueError(f"{drill!r} has no policy {rung!r}; only the built-in drill 'ball' has a ladder")
    return path(drill, rung)
