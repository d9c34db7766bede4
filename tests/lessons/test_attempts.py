"""Each check refuses ten wrong answers with a hint, and accepts unusual ones that are right."""

import importlib
import sys

import pytest

from dshq_widget.lessons import LESSONS, check

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
EXERCISES = [
    (row.name, exercise, attempts)
    for row in LESSONS.values()
    for exercise, attempts in importlib.import_module(f"tests.lessons.attempts.{row.module}").ATTEMPTS.items()
]
CASES = [
    pytest.param(lesson, answer, is_right, id=f"{lesson}-{exercise}-{name}")
    for lesson, exercise, attempts in EXERCISES
    for is_right, answers in ((False, attempts.wrong), (True, attempts.right))
    for name, answer in answers.items()
]


@pytest.mark.parametrize(("lesson", "answer", "is_right"), CASES)
def test_a_check_knows_right_from_wrong(lesson, answer, is_right, tmp_path, monkeypatch):
    if lesson == "gymnasium":  # its answers are what the function in a file beside the notebook returns
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "path", list(sys.path))
        (tmp_path / "winter.py").write_text(HOUSE.replace("REWARD", answer[0]))
        answer = ("winter",)
    verdict = check(lesson, **answer) if isinstance(answer, dict) else check(lesson, *answer)
    assert verdict.done is is_right, verdict
    assert not [text for text in verdict.missing if "ended with" in text and "check of your answer" in text], verdict


@pytest.mark.parametrize(("lesson", "exercise", "attempts"), EXERCISES, ids=lambda value: str(value)[:12])
def test_each_check_has_ten_wrong_answers_and_two_unusual_right_ones(lesson, exercise, attempts):
    assert len(attempts.wrong) >= 10
    assert len(attempts.right) >= 2
