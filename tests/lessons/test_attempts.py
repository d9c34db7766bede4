"""Each check refuses wrong answers with a hint, and accepts unusual ones that are right."""

import ast

import pytest

from dshq_widget.lessons import LESSONS, afresh, check
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


def asked() -> list[tuple[str, list[str | None]]]:
    """Each check of each lesson, with what it is given: the names of its arguments, None for one by its place."""
    found = list[tuple[str, list[str | None]]]()
    for name in LESSONS:
        for tags, source in afresh._cells(name):
            if "check" in tags:
                call = ast.parse(source.strip().splitlines()[-1], mode="eval").body
                assert isinstance(call, ast.Call)
                found.append((name, [*(None for _ in call.args[1:]), *(each.arg for each in call.keywords)]))
    return found


@pytest.mark.parametrize(("lesson", "given"), asked())
def test_nothing_is_no_answer(lesson, given):
    """It was taken for one that the check was not asked about: `plan = None` was done, with the answer before."""
    for nothing in range(len(given)):
        places = [None if k == nothing else print for k, name in enumerate(given) if name is None]
        named = {name: None if k == nothing else print for k, name in enumerate(given) if name is not None}
        found = check(lesson, *places, **named)
        assert len(found.missing) == 1 and found.missing[0].endswith("is None: it should be your answer.")
        assert given[nothing] is None or found.missing[0].startswith(f"`{given[nothing]}` ")
