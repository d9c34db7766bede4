"""Grades: one line of monkeypatching earns nothing, a right answer keeps its points."""

import sys
from collections.abc import Callable

import nbformat
import numpy as np
import pytest

import dshq_widget.lessons as L
from dshq_widget.lessons import LESSONS, Verdict, afresh
from dshq_widget.lessons.checks import bandit
from dshq_widget.lessons.grading import Afresh
from dshq_widget.lessons.guarded import guarded
from tests.harness.notebook_reader import answers
from tools.instructor import assignments
from tools.instructor.lessons import Material

LESSON = LESSONS["bandit"]
RIGHT, *_ = answers(LESSON)
WRONG = "def estimate(values, counts, arm, reward):\n    values[arm] = reward\n"
CHEATS = (
    "import dshq_widget.lessons as L; L.check = lambda *a, **k: L.Verdict((), '')",
    "import dshq_widget.lessons.checks.bandit as c; c.missing = lambda *a, **k: []",
    "import dshq_widget.lessons.verdict as v; check = lambda *a, **k: v.Verdict((), '')",
    "import numpy as np; np.allclose = np.isclose = lambda *a, **k: True",
    "import os; print('\\n[\"\"]\\n', flush=True); os._exit(0)",
    "from dshq_widget.lessons import Verdict; Verdict.done = True",
    "import dshq_widget.lessons as L; L.check.__code__ = (lambda name, /, *a, **k: Verdict((), '')).__code__",
)


@pytest.mark.parametrize(
    "change",
    [
        lambda: setattr(Verdict, "done", True),
        lambda: setattr(Verdict, "__getattribute__", lambda self, name: True),
        lambda: setattr(L.check, "__code__", (lambda name, /, *a, **k: Verdict((), "")).__code__),
        lambda: setattr(bandit.missing, "__kwdefaults__", {}),
        lambda: setattr(vars(Verdict)["done"].fget, "__code__", (lambda self: True).__code__),
        lambda: setattr(bandit._estimate, "__code__", (lambda estimate: []).__code__),
        lambda: bandit.VALUES.fill(0),
        lambda: setattr(np, "isclose", lambda *a, **k: True),
        lambda: setattr(bandit, "PAID", ()),
        lambda: sys.setprofile(print),
    ],
)
def test_what_an_answer_changes_is_put_back(change: Callable[[], None]):
    before = bandit.VALUES.copy()
    with guarded():
        change()
    assert sys.getprofile() is None and (before == bandit.VALUES).all()
    assert bandit.missing(estimate=lambda values, counts, arm, reward: None), "a wrong answer"
    assert not L.check("bandit", estimate=print).done and L.Verdict((), "").done


def test_a_right_answer_is_done_and_a_wrong_one_is_not():
    first, second, third = afresh.missing(LESSON.name, [RIGHT, WRONG.replace("estimate", "choose"), "x = 1"])
    assert first == "" and second.startswith("Not yet: ")
    assert third == "the check ended with NameError: name 'regret' is not defined" or third.startswith("Not yet: ")


@pytest.mark.parametrize("cheat", [CHEATS[-1], *(pytest.param(one, marks=pytest.mark.slow) for one in CHEATS[:-1])])
def test_one_line_of_monkeypatching_earns_nothing(cheat: str):
    (lack,) = afresh.missing(LESSON.name, [f"{cheat}\n{WRONG}"])
    assert lack


STACK = """
import json, os, sys
frame = sys._getframe()
while frame and "asked" not in frame.f_locals:
    frame = frame.f_back
if frame:
    told = frame.f_locals
    os.write(told["output"], (told["asked"]["word"] + json.dumps(["", ""]) + "\\n").encode())
    os._exit(0)
"""


def test_an_answer_that_reaches_into_the_check_is_left_to_somebody_and_the_others_are_checked():
    first, second = afresh.missing(LESSON.name, [RIGHT, STACK])
    assert first == "" and second == "somebody has to read it: it names _exit, _getframe, f_back, f_locals"


def test_too_many_answers_and_a_process_that_never_ends():
    with pytest.raises(ValueError, match="has 4 exercises, got 5 answers"):
        afresh.missing(LESSON.name, [RIGHT] * 5)
    assert afresh.missing(LESSON.name, ["import time; time.sleep(600)"], seconds=8.0) == [
        "the check took longer than 8 s"
    ]


def test_a_check_that_was_done_in_the_students_kernel_alone_is_a_failed_one(monkeypatch: pytest.MonkeyPatch):
    made = assignments.assignment(Material.of(LESSON))
    asked: list[tuple[str, list[str]]] = []

    def lacking(name: str, sources: list[str]) -> list[str]:
        asked.append((name, sources))
        return ["Not yet: the sum", "", "", ""]

    monkeypatch.setattr("dshq_widget.lessons.grading.missing", lacking)
    graded, _ = Afresh()(made, {})
    nbformat.validate(graded)
    first, *others = [cell for cell in graded.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert [output.output_type for output in first.outputs] == ["error"] and "the sum" in first.outputs[0].evalue
    assert len(others) == 3 and not any(cell.outputs for cell in others)
    assert asked[0][0] == LESSON.name and RIGHT.strip() in asked[0][1][0]


@pytest.mark.parametrize("taken", ["marks", "cells"])
def test_answers_whose_marks_or_cells_are_gone_are_failed_ones(monkeypatch: pytest.MonkeyPatch, taken: str):
    """nbgrader restores neither, and without them nothing would be checked afresh."""
    made = assignments.assignment(Material.of(LESSON))
    for cell in [cell for cell in made.cells if cell.metadata.get("nbgrader", {}).get("solution")]:
        if taken == "marks":
            del cell.metadata["nbgrader"]
        else:
            made.cells.remove(cell)
    asked: list[list[str]] = []
    monkeypatch.setattr(
        "dshq_widget.lessons.grading.missing", lambda name, sources: asked.append(sources) or [""] * len(sources)
    )
    graded, _ = Afresh()(made, {})
    checks = [cell for cell in graded.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert len(checks) == 4 and asked == [[""] * 4]
    for cell in checks:
        assert "the cell of its answer is gone" in cell.outputs[0].evalue
