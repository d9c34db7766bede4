"""Each check refuses wrong answers with a hint, and accepts unusual ones that are right."""

import ast
import importlib

import numpy as np
import pytest

from dshq_widget.lessons import LESSONS, afresh, check
from dshq_widget.lessons.guarded import guarded
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
        assert len(found.missing) == 1 and found.missing[0].endswith(" is None: the check needs it.")
        assert given[nothing] is None or found.missing[0].startswith(f"`{given[nothing]}` ")


CHANGES = {
    "q-learning": """
class Set:
    def values_of(self, values):
        self.values = values
def nothing(*given):
    return np.zeros((len(given[-1]), 2))
def targets(frozen, paid, after, over, gamma):
    Set.values_of(type(frozen), nothing)
    return paid
def off(net, frozen, rows, gamma):
    Set.values_of(type(net), nothing)
    return np.mean(rows[:, 5] ** 2)
""",
    "ppo-loop": """
class Set:
    def value_of(self, value):
        self.value = value
def next_value(agent, after, terminated, truncated, final_obs):
    Set.value_of(type(agent), lambda *given: np.zeros(len(given[-1])))
    return np.zeros(len(after))
""",
}


@pytest.mark.parametrize(
    ("lesson", "name"), [("q-learning", "targets"), ("q-learning", "off"), ("ppo-loop", "next_value")]
)
def test_what_is_wanted_is_worked_out_before_an_answer_is_called(lesson, name):
    """The first call counts: what was wanted was worked out by what the answer had changed."""
    if lesson == "ppo-loop":
        pytest.importorskip("torch")
    names = {"np": np}
    exec(CHANGES[lesson], names)
    importlib.import_module(LESSONS[lesson].checked_by)  # what is loaded by now is put back
    with guarded():
        assert not check(lesson, **{name: names[name]}).done
