"""Whether the house in winter says what a good hour is."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np

from dshq_widget.runtime.own_modules import look_in

ENVIRONMENT = "Winter-v0"
WARM, COLD, HOT = 20.0, 8.0, 32.0
"""Degrees: where it is best, and two hours of which nobody is glad."""
NEAR = 2.0
"""Degrees from WARM that may still be as good."""
DONE = (
    "A warm house is best, a cold and a hot one are worse, and wood has its price. The learner gets no other "
    "information; it has to find out when to light the fire."
)


def missing(module: str) -> list[str]:
    """What the environment of a module beside the notebook still lacks; the file is read again."""
    sys.modules.pop(module, None)
    gym.registry.pop(ENVIRONMENT, None)
    look_in(os.getcwd())
    importlib.invalidate_caches()
    env: Any = gym.make(f"{module}:{ENVIRONMENT}").unwrapped
    env.reset(seed=0)

    def reward(degrees: float, logs: int) -> float:
        env.inside = degrees
        paid = env.reward(logs)
        return float("nan") if paid is None else float(paid)

    paid = {(degrees, logs): reward(degrees, logs) for degrees in (COLD, WARM, HOT) for logs in range(3)}
    if not np.isfinite(list(paid.values())).all():
        return ["`reward` gives something that is no number. It should `return` one in every case."]
    if env.inside != HOT:
        return ["`reward` changes the house. It should only look at `self.inside`; `step` does the rest."]
    found = []
    if paid[WARM, 0] <= paid[COLD, 0]:
        found.append(
            f"An hour at {WARM:g} degrees is worth no more than one at {COLD:g}: nothing says that cold is bad."
        )
    if paid[WARM, 0] <= paid[HOT, 0]:
        found.append(f"An hour at {WARM:g} degrees is worth no more than one at {HOT:g}: too warm is bad as well.")
    found = found or _best(reward)
    if not paid[WARM, 0] > paid[WARM, 1] > paid[WARM, 2]:
        found.append("Wood is free: every log that is put on should cost a little.")
    elif paid[WARM, 2] <= paid[COLD, 0]:
        found.append(
            f"Wood is too dear: a warm house with two logs an hour is worth no more than {COLD:g} degrees without "
            "any, so nobody would ever light the fire."
        )
    return found


def _best(reward: Callable[[float, int], float]) -> list[str]:
    """What is wrong with a reward between COLD and HOT: it should be best at WARM and fall to both sides."""
    degrees = np.arange(COLD, HOT + 1.0)
    worth = np.array([reward(float(degree), 0) for degree in degrees])
    best = float(degrees[int(np.argmax(worth))])
    top = worth[degrees == WARM][0]
    if worth.max() > top:
        return [f"It is best at {best:g} degrees; the people in the house like {WARM:g}."]
    if (worth[np.abs(degrees - WARM) > NEAR] >= top).any():
        return [f"Some hours more than {NEAR:g} degrees from {WARM:g} are worth as much as one at {WARM:g}."]
    below, above = worth[degrees <= WARM], worth[degrees >= WARM]
    if (np.diff(below) < 0).any() or (np.diff(above) > 0).any():
        return [f"Somewhere an hour farther from {WARM:g} degrees is worth more than a nearer one."]
    return []
