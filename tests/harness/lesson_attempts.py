"""Somebody who tries answers to an exercise outside its notebook."""

from __future__ import annotations

import contextlib
import importlib
import sys
from pathlib import Path
from typing import Any

from dshq_widget.lessons import Lesson, Verdict, check

HOUSE = """
import gymnasium as gym

class Winter(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (1,))
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        self.inside = 15.0
        return self.observation_space.sample(), {}

    def reward(self, logs):
        return REWARD

gym.register("Winter-v0", Winter, max_episode_steps=48)
"""


def attempts(lesson: Lesson) -> dict[str, Any]:
    """Exercise -> Attempts, from `tests/lessons/attempts`."""
    return importlib.import_module(f"tests.lessons.attempts.{lesson.module}").ATTEMPTS


def verdict(lesson: Lesson, answer: tuple | dict[str, Any], folder: Path) -> Verdict:
    """What the lesson's check says of an answer; `folder` takes what the answer writes beside the notebook."""
    if lesson.name == "gymnasium":  # its answers are what the function in a file beside the notebook returns
        path = list(sys.path)
        (folder / "winter.py").write_text(HOUSE.replace("REWARD", answer[0]))
        try:
            with contextlib.chdir(folder):
                return check(lesson.name, "winter")
        finally:
            sys.path[:] = path
    return check(lesson.name, **answer) if isinstance(answer, dict) else check(lesson.name, *answer)
