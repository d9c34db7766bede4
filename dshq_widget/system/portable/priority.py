"""Priorities by psutil: the class below the normal one on Windows, a nice value elsewhere."""

import os

import psutil

ADJUSTABLE = False
CLASSES = {"IDLE_PRIORITY_CLASS": 19, "BELOW_NORMAL_PRIORITY_CLASS": 10}
"""Windows has classes: as which nice value each of the low ones counts here."""


def niceness() -> int:
    nice = psutil.Process().nice()
    if os.name == "nt":
        return next((value for name, value in CLASSES.items() if nice == getattr(psutil, name)), 0)
    return int(nice)


def step_aside(nice: int) -> None:
    if niceness() < nice:
        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS if os.name == "nt" else nice)  # type: ignore[attr-defined]


def own_group() -> None:
    """There are no groups with weights that every system knows."""


def weigh(group: int | None, nice: int | None) -> None:
    """Nothing beyond `step_aside`."""
