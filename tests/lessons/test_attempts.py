"""Each check refuses wrong answers with a hint, and accepts unusual ones that are right."""

import pytest

from dshq_widget.lessons import LESSONS
from tests.harness.lesson_attempts import attempts as attempts_of
from tests.harness.lesson_attempts import verdict

EXERCISES = [
    (row.name, exercise, attempts) for row in LESSONS.values() for exercise, attempts in attempts_of(row).items()
]
CASES = [
    pytest.param(lesson, answer, is_right, id=f"{lesson}-{exercise}-{name}")
    for lesson, exercise, attempts in EXERCISES
    for is_right, answers in ((False, attempts.wrong), (True, attempts.right))
    for name, answer in answers.items()
]


@pytest.mark.parametrize(("lesson", "answer", "is_right"), CASES)
def test_a_check_knows_right_from_wrong(lesson, answer, is_right, tmp_path):
    found = verdict(LESSONS[lesson], answer, tmp_path)
    assert found.done is is_right, found
    assert not [text for text in found.missing if "ended with" in text and "check of your answer" in text], found


@pytest.mark.parametrize(("lesson", "exercise", "attempts"), EXERCISES, ids=lambda value: str(value)[:12])
def test_each_check_has_five_wrong_answers_and_two_unusual_right_ones(lesson, exercise, attempts):
    assert len(attempts.wrong) >= 5
    assert len(attempts.right) >= 2
