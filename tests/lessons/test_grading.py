"""Grades of honest answers: code beside them counts, and one student's notebook ends nobody else's grading."""

import copy
from typing import Any

import pytest
from nbformat.v4 import new_code_cell, new_output

from dshq_widget.lessons import LESSONS, afresh
from dshq_widget.lessons.grading import Afresh
from tests.harness.notebook_reader import answers
from tools.instructor import assignments
from tools.instructor.lessons import Material

HELPER = "def moved(old, n, new):\n    return old + (new - old) / n"
WITH_HELPER = """
def estimate(values, counts, arm, reward):
    counts[arm] += 1
    values[arm] = moved(values[arm], counts[arm], reward)
"""
BOUND = "def bound(value, n, t, c):\n    return value + c * sqrt(log(t) / n) if n else np.inf"
WITH_IMPORTS = (
    "def bounds(values, counts, t, c):\n    return np.array([bound(*one, t, c) for one in zip(values, counts)])"
)


def of(made: Any, name: str) -> int:
    """The place of the cell with that mark."""
    return next(k for k, cell in enumerate(made.cells) if cell.metadata.get("nbgrader", {}).get("grade_id") == name)


def lacks(made: Any) -> dict[str, str]:
    """What each check lacks, by its mark."""
    graded, _ = Afresh()(copy.deepcopy(made), {})
    marks = [(cell, cell.metadata.get("nbgrader", {})) for cell in graded.cells]
    return {
        mark["grade_id"]: cell.outputs[0].evalue if cell.outputs else "" for cell, mark in marks if mark.get("grade")
    }


def test_a_helper_and_an_import_in_other_cells_than_the_answers_cost_no_points():
    """The check was done in the student's notebook, and 0 points were given: `NameError: name 'moved' ...`."""
    made = assignments.assignment(Material.of(LESSONS["bandit"]))
    made.cells[of(made, "bandit-1")].source = WITH_HELPER
    made.cells.insert(of(made, "bandit-1"), new_code_cell(HELPER))
    made.cells.insert(0, new_code_cell("%matplotlib inline"))
    first = next(cell for cell in made.cells if cell.source.startswith("import numpy"))
    first.source = f"from math import log, sqrt\n{first.source}"
    half = copy.deepcopy(made.cells[of(made, "bandit-4")])
    half.id, half.source = "half", BOUND
    del half.metadata["nbgrader"]  # as nbgrader does with the first half of a cell that was split
    made.cells[of(made, "bandit-4")].source = WITH_IMPORTS
    made.cells.insert(of(made, "bandit-4"), half)
    made.cells[of(made, "bandit-2")].source = "def choose(values, epsilon, chance):\n    return 0"
    graded, _ = Afresh()(made, {})
    checks = [cell for cell in graded.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert [bool(cell.outputs) for cell in checks] == [False, True, False, False], checks
    assert "Not yet" in checks[1].outputs[0].evalue, "a wrong one is none"


def lack_with_a_helper(*others: str) -> str:
    """What an answer lacks whose helper has a cell of its own, behind cells with these sources."""
    made = assignments.assignment(Material.of(LESSONS["bandit"]))
    made.cells[of(made, "bandit-1")].source = WITH_HELPER
    for source in (*others, HELPER):
        made.cells.insert(of(made, "bandit-1"), new_code_cell(source))
    return lacks(made)["bandit-1-check"]


def test_a_cell_that_plots_or_fails_takes_no_points_from_a_helper():
    """All cells were run in one piece: with one that imports more, the helper was not there."""
    more = "import pandas as pd\nframe = pd.DataFrame()"
    plots = "import matplotlib.pyplot as plt\nplt.plot([1, 2])"
    assert lack_with_a_helper(more, plots, "began = time.time()\nassert False") == ""


def test_an_answer_in_another_cell_than_the_exercises_counts():
    """The exercise's cell was deleted, or merged with another one, which takes its mark."""
    made = assignments.assignment(Material.of(LESSONS["bandit"]))
    right = answers(LESSONS["bandit"])
    made.cells[of(made, "bandit-1")] = new_code_cell(right[0])
    made.cells[of(made, "bandit-2")] = new_code_cell(f"import math\n\n{right[1]}")
    made.cells[of(made, "bandit-3")] = new_code_cell("def regret(chosen, chances):\n    return 0")
    found = lacks(made)
    assert [found[f"bandit-{k}-check"] for k in (1, 2, 4)] == ["", "", ""]
    assert found["bandit-3-check"].startswith("checked again in a process of its own: the cell of its answer is gone")


@pytest.mark.parametrize("done", [False, True])
def test_what_is_done_in_the_notebook_and_not_here_is_read_by_somebody(done: bool):
    """IPython takes such lines. It was a SyntaxError and 0 points, and nobody was told."""
    made = assignments.assignment(Material.of(LESSONS["bandit"]))
    lines = ["t = %timeit -o 1 + 1", "files = !ls", ">>> x = 1"]
    for number, (right, line) in enumerate(zip(answers(LESSONS["bandit"]), lines, strict=False), start=1):
        made.cells[of(made, f"bandit-{number}")].source = f"{right}\n{line}"
        check = made.cells[of(made, f"bandit-{number}-check")]
        check.execution_count = 3
        check.outputs = [new_output("stream", name="stdout", text="values now [1.0]")]  # of a print in the answer
        if not done:
            check.outputs.append(new_output("error", ename="AssertionError", evalue="Not yet", traceback=[]))
    found = lacks(made)
    for number in (1, 2, 3):
        said = found[f"bandit-{number}-check"].removeprefix("checked again in a process of its own: ")
        assert said and said.startswith(f"{afresh.READ}: its check is done in the notebook, and not here: ") == done


def test_what_needs_an_answer_that_was_not_run_is_left_to_somebody_too():
    """It was a NameError and 0 points, and nobody was told that it might be right."""
    softmax, slope, *_ = answers(LESSONS["policy-gradient"])
    alone = """def policy_gradient(scores, actions, rewards, baseline):
    p = np.exp(scores - scores.max())
    return ((np.eye(len(scores))[actions] - p / p.sum()) * (rewards - baseline)[:, None]).mean(0)"""
    first, second, third = afresh.missing("policy-gradient", [f"import functools\n{softmax}", slope, alone])
    assert first == f"{afresh.READ}: it names functools"
    assert second.startswith(f"{afresh.READ}: an answer before it was not run, and without that one: Not yet: ")
    assert third == ""


@pytest.mark.parametrize("line", ["%%time", "!ls", "estimate?"])
def test_an_answer_with_a_line_for_ipython_is_left_to_somebody(line: str):
    said = afresh._unread(f"{line}\n{answers(LESSONS['bandit'])[0]}", [])
    assert said.startswith(f"{afresh.READ}: it has a line for IPython")


@pytest.mark.parametrize("mark", ["copied", {}, {"schema_version": 2}, {"schema_version": 4}, "text"])
def test_a_cell_that_was_copied_or_is_marked_otherwise_ends_nobodys_grading(mark: Any):
    """`nbgrader autograde` ended: "One or more notebooks in the assignment use an old version"; others got no grade."""
    pytest.importorskip("nbgrader", reason="pip install 'dshq-widget[instructor]'")
    from nbgrader.converters import Autograde
    from nbgrader.preprocessors import CheckCellMetadata, DeduplicateIds
    from traitlets.config import Config

    course = Config()
    exec(assignments.CONFIGURATION, {"get_config": lambda: course, "__file__": __file__})
    steps = Autograde(config=course).sanitize_preprocessors
    made = assignments.assignment(Material.of(LESSONS["shaping"]))
    other = copy.deepcopy(made.cells[of(made, "shaping-1")])
    other.id = "other"
    if mark != "copied":
        other.metadata["nbgrader"] = mark
    made.cells.append(other)
    (one,) = [step for step in steps if issubclass(step, DeduplicateIds)]
    assert CheckCellMetadata in steps
    for step in (one, CheckCellMetadata):
        made, _ = step()(made, {})
    assert of(made, "shaping-1") and of(made, "shaping-1-check")


def test_a_cell_from_another_assignment_is_one_beside_the_answers(tmp_path):
    """A student pasted last week's helper, with its mark. nbgrader takes half of that, and gave no grade for it."""
    pytest.importorskip("nbgrader", reason="pip install 'dshq-widget[instructor]'")
    from nbgrader.api import Gradebook
    from nbgrader.converters import Autograde
    from nbgrader.preprocessors import CheckCellMetadata, ComputeChecksums, OverwriteCells, SaveCells
    from traitlets.config import Config

    course = Config()
    exec(assignments.CONFIGURATION, {"get_config": lambda: course, "__file__": __file__})
    (known,) = [step for step in Autograde(config=course).sanitize_preprocessors if issubclass(step, OverwriteCells)]
    given = {"notebook": "bandit", "assignment": "bandit", "db_url": f"sqlite:///{tmp_path}/gradebook.db"}
    with Gradebook(given["db_url"]) as book:
        book.add_assignment("bandit")
    made = assignments.assignment(Material.of(LESSONS["bandit"]))
    for step in (ComputeChecksums, SaveCells):
        made, _ = step()(made, {"nbgrader": given})
    theirs = assignments.assignment(Material.of(LESSONS["shaping"]))
    pasted = copy.deepcopy(theirs.cells[of(theirs, "shaping-1")])
    pasted.id, pasted.source = "pasted", HELPER
    made.cells.insert(of(made, "bandit-1"), pasted)
    made.cells[of(made, "bandit-1")].source = WITH_HELPER
    for step in (known, CheckCellMetadata):
        made, _ = step()(made, {"nbgrader": given})
    assert not any(lacks(made).values())


TWICE = """
class A:
    def f(self):
        self.done = True
class Oops(Exception):
    def __str__(self):
        A.f(type(check("bandit")))
        return "oops"
"""


@pytest.fixture
def unread(monkeypatch):
    """Whatever an answer names, it runs: what it changes is put back all the same."""
    monkeypatch.setattr(afresh, "reached", lambda *_: [])


def test_an_error_of_an_answers_own_says_itself_and_changes_nothing(unread):
    """It gave the points of all other answers: what it changed while it was asked what it says was not put back."""
    wrong = ["def choose(values, epsilon, chance):\n    return 0", "regret = bounds = lambda *a, **k: 0"]
    lacks = afresh.missing("bandit", [f"{TWICE}\nraise Oops", *wrong])
    assert len(lacks) == 3 and all(lacks)
    lacks = afresh.missing("bandit", [f"{TWICE}\ndef estimate(*a): raise Oops", *wrong])
    assert len(lacks) == 3 and all(lacks)


def test_what_a_lessons_own_cell_calls_changes_nothing(unread):
    sets = "class A:\n    def f(self):\n        self.done = True\n"
    right = answers(LESSONS["bandit"])[0].replace("reward):\n", "reward):\n    A.f(type(check('bandit')))\n")
    assert "A.f(type" in right
    estimate = f"{sets}\n{right}"
    wrong = [
        "def choose(values, epsilon, chance):\n    return 0",
        "regret = lambda *a, **k: 0",
        "bounds = lambda *a, **k: 0",
    ]
    first, *others = afresh.missing("bandit", [estimate, *wrong])
    assert first == "" and all(others)


@pytest.mark.parametrize(
    "changes",
    [
        "import builtins\n    builtins.tuple = lambda *_: ()",
        "import numpy\n    numpy.isclose = numpy.allclose = lambda *_, **__: True",
    ],
    ids=["a built-in", "numpy"],
)
def test_a_check_that_takes_anything_for_done_is_read_by_somebody(unread, changes):
    """By whatever way an answer changes what judges it: then the exercise as it was given is done, too."""
    (lack,) = afresh.missing(
        "bandit", [f"def estimate(estimates, counts, arm, reward):\n    {changes}\n    return 0.0"]
    )
    assert lack == afresh.ANYTHING


def test_what_is_missing_is_taken_from_no_verdict_that_an_answer_has_changed(unread):
    lacks = """class A:
    def f(self):
        self.missing = property(lambda verdict: (), lambda verdict, value: None)
def estimate(*answer):
    A.f(type(check("bandit")))
"""
    (lack,) = afresh.missing("bandit", [lacks])
    assert lack.startswith("Not yet: ")


def test_an_instructors_own_questions_are_not_ours():
    """Each of them ended the grading of everybody: there was no lesson of that name."""
    made = assignments.assignment(Material.of(LESSONS["bandit"]))
    marks = [{"grade": True, "solution": True, "grade_id": key} for key in ("why", "why-1", "bandit-1x", "bandit-9")]
    marks += [{"grade": True, "locked": True, "grade_id": key} for key in ("cell-0a1b2c3d", "bandit-9-check")]
    for mark in marks:
        made.cells.insert(of(made, "bandit-1"), new_code_cell(HELPER if mark["grade_id"] == "why" else "assert True"))
        made.cells[of(made, "bandit-1") - 1].metadata["nbgrader"] = mark
    made.cells[of(made, "bandit-1")].source = WITH_HELPER
    assert not any(lacks(made).values())


def test_a_check_of_a_lesson_under_another_id_is_left_to_somebody():
    """An instructor has moved it by copying: nbgrader gives the copy another id, and the student's kernel decided."""
    made = assignments.assignment(Material.of(LESSONS["bandit"]))
    check = made.cells[of(made, "bandit-1-check")]
    check.metadata["nbgrader"]["grade_id"], check.execution_count = "cell-0a1b2c3d", 3
    assert lacks(made)["cell-0a1b2c3d"].startswith(f"{afresh.READ}: its id is not bandit-NUMBER-check")


def test_what_a_check_writes_to_stderr_costs_no_points_and_odd_tags_end_nothing():
    """nbgrader gives nothing to such a cell, though it was done twice."""
    made = assignments.assignment(Material.of(LESSONS["bandit"]))
    check = made.cells[of(made, "bandit-1-check")]
    check.execution_count = 3
    check.outputs = [
        new_output("stream", name="stderr", text="a warning"),
        new_output("stream", name="stdout", text=""),
    ]
    for cell, tags in zip(made.cells, (None, 5, "text", ["exercise"]), strict=False):
        cell.metadata["tags"] = tags
    graded, _ = Afresh()(made, {})
    assert [output.name for output in graded.cells[of(graded, "bandit-1-check")].outputs] == ["stdout"]


def test_what_ends_a_check_ends_no_other_and_can_be_written():
    """A function that raises what no check expects, and half of a character in an error."""
    _, _, regret, bounds = answers(LESSONS["bandit"])
    ends = "def estimate(*answer):\n    raise KeyboardInterrupt"
    half = "raise ValueError('\\ud800')"
    first, second, *others = afresh.missing("bandit", [ends, half, regret, bounds])
    assert first.startswith("the check ended with KeyboardInterrupt") and second.encode()
    assert not any(others)


def test_an_assignment_may_leave_out_exercises():
    """The answers behind one were checked as those to other exercises."""
    made = assignments.assignment(Material.of(LESSONS["bandit"]))
    left_out = {"bandit-2", "bandit-2-check"}
    made.cells = [cell for cell in made.cells if cell.metadata.get("nbgrader", {}).get("grade_id") not in left_out]
    made.cells[of(made, "bandit-4")].source = "def bounds(values, counts, t, c):\n    return values"
    found = lacks(made)
    assert {key: bool(lack) for key, lack in found.items()} == {
        "bandit-1-check": False,
        "bandit-3-check": False,
        "bandit-4-check": True,
    }


def test_what_stands_beside_takes_no_points_from_an_answer_that_needs_nothing():
    """Another answer was wrong alone, so all were run again with what is beside them, of which a part is left out."""
    made = assignments.assignment(Material.of(LESSONS["bandit"]))
    made.cells[of(made, "bandit-1")].source = "def estimate(values, counts, arm, reward):\n    pass"
    cached = "import functools\n\n@functools.lru_cache(None)\ndef cached(k):\n    return k"
    made.cells.insert(of(made, "bandit-2"), new_code_cell(cached))
    found = lacks(made)
    assert found["bandit-1-check"] and not found["bandit-2-check"]


def test_no_cell_beside_the_answers_ends_the_grading():
    """The parser takes what `symtable` and `ast.unparse` do not: that student had no grade at all."""
    sources = (
        "def f():\n    count = 1\n    global count",
        "def f():\n    nonlocal x",
        "def f(a, a):\n    pass",
        "def f():\n    from math import *",
        "total = " + " + ".join(["1"] * 2000),
        "x = " + "(" * 150 + ")" * 150,
        "import functools\n\n@functools.lru_cache(None)\ndef square(x):\n    return x * x",
        "from enum import Enum\n\nclass Arm(Enum):\n    LEFT = 0",
        "y = 1\0",
    )
    assert lack_with_a_helper(*sources) == ""
