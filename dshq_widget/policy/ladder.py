"""The ladder: policies shipped with the package, to play against or to train further (`tools/ladder.py`), and the
targets that a policy in training is measured against, the weakest first.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dshq_widget.contract.game_spec import GameSpec

RUNGS = ("bronze", "silver", "gold")
FOLDER = Path(__file__).parents[1] / "drills" / "ladder"


STEPS = {"idle": 2.7e6, "random": 2.9e6, "script": 7e6, "bronze": 7e6, "silver": 15e6, "gold": 46e6}
"""Agent steps after which the Ball Drill's policy usually beats each target, by its defaults (measured,
benchmarks/targets.py): for a forecast."""


@dataclass(frozen=True)
class Target:
    """Somebody to beat."""

    name: str
    """As an opponent: idle, random, the drill's first baseline, or a rung of the ladder."""
    metric: str
    """The metric that says when it was beaten (contract/metrics.py)."""
    steps: float
    """Agent steps that this usually takes; 0 where nobody measured it."""


def targets(spec: GameSpec) -> tuple[Target, ...]:
    """The targets of a drill, weakest first; none for one of one side, where nobody can be beaten."""
    if spec.sides != 2:
        return ()
    kinds = {"idle": "idle", "random": "random"} | dict.fromkeys(spec.baselines[:1], "script")
    kinds |= {rung: rung for rung in rungs(spec.name)}
    known = STEPS if spec.name == "ball" else {}
    return tuple(Target(name, f"beats_{kind}", known.get(kind, 0.0)) for name, kind in kinds.items())


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
