"""A step of nbgrader's autograding: the checks count only if they are done in a process of their own, too (afresh.py).

`nbgrader_config.py` of the course has it behind the step that runs the notebook (tools/instructor/assignments.py).
"""

from __future__ import annotations

import ast
import re
import time
from typing import Any

from nbconvert.preprocessors import Preprocessor
from nbformat.v4 import new_output
from traitlets import Bool

from dshq_widget.lessons.afresh import LONGEST_ANSWER, READ, SECONDS, exercises_of, lesson_sources, missing
from dshq_widget.lessons.reach import reached
from dshq_widget.lessons.table import LESSONS

GONE = "the cell of its answer is gone, or no longer marked as one"
CHECK = re.compile(r"""\bcheck\(\s*["']([\w-]+)["']""")
"""The check of a lesson, by its name."""
MOST_STATEMENTS = 300
"""Of a notebook's cells beside the answers (assumed): each is read by itself, which takes up to 12 ms."""
DEFINITIONS = (
    *(ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef),
    *(ast.Assign, ast.AnnAssign, ast.AugAssign),
)
UNREADABLE = SyntaxError, ValueError, RecursionError, MemoryError
"""Raised for what is no Python, has a NUL, or is nested deeply."""


class Afresh(Preprocessor):
    """Turns a check that is not done when it is checked afresh into a failed one, whatever it gave before."""

    enabled = Bool(True).tag(config=True)
    """nbconvert's own are not, until somebody asks for them."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """The notebook with the outputs of such checks changed, and without saved widgets; the resources as they
        were.
        """
        marked = [(cell, cell.metadata.get("nbgrader", {})) for cell in nb.cells if cell.cell_type == "code"]
        checks = [(cell, _key(mark)) for cell, mark in marked if mark.get("grade")]
        answers = _answers(nb)
        # nbgrader restores the cells of checks, not those of answers: a student may have taken these, or their marks
        checked = {key for _, key in checks if key}
        for name in sorted({_lesson(key) for key in checked}):
            theirs = [key for key in checked if _lesson(key) == name]
            lacks = _lacks(name, nb, {key: answers.get(key, "") for key in theirs}, answers)
            lacks |= {key: f"{GONE}: {lack}" for key, lack in lacks.items() if lack and key not in answers}
            for cell, key in checks:
                lack = lacks.get(key)
                if lack and _passed(cell) and not lack.startswith(READ):
                    lack = f"{READ}: its check is done in the notebook, and not here: {lack}"
                if lack:
                    _fail(cell, f"checked again in a process of its own: {lack}")
                elif lack == "" and _passed(cell):  # nbgrader gives no points to what writes there
                    cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        for cell, key in checks:
            found = None if key else CHECK.search(cell.source)
            if found and found[1] in LESSONS and _passed(cell):
                why = f"its id is not {found[1]}-NUMBER-check, so it was done in the student's notebook alone"
                _fail(cell, f"{READ}: {why}")
        nb.metadata.pop("widgets", None)  # JupyterLab runs what is saved of widgets as soon as it opens the notebook
        return nb, resources


def _fail(check: Any, text: str) -> None:
    """An error is all that it gives: nbgrader takes the points from a number that stands before one."""
    check.outputs = [new_output("error", ename="AssertionError", evalue=text, traceback=[text])]


def _passed(check: Any) -> bool:
    """Whether a check is done in the student's notebook, as that was run for its grade: it has an error, else."""
    return check.execution_count is not None and not any(output.output_type == "error" for output in check.outputs)


def _key(mark: Any) -> str:
    """The answer that the check with this mark is of, "" if it is none of a lesson's: an instructor may ask more."""
    found = re.fullmatch(r"(.+)-([1-9]\d?)-check", str(mark.get("grade_id", ""))) if mark.get("grade") else None
    if found is None or found[1] not in LESSONS or int(found[2]) > len(exercises_of(found[1])):
        return ""
    return found[0].removesuffix("-check")


def _lesson(key: str) -> str:
    return key.rpartition("-")[0]


def _lacks(name: str, nb: Any, answers: dict[str, str], others: dict[str, str]) -> dict[str, str]:
    """What the answers lack by themselves, "" also for one that is done with what the student has put beside it. By
    their marks, whose number is that of the exercise: an assignment may leave out some. `others`: all that it has.
    """
    began = time.monotonic()
    ordered = [f"{name}-{k}" for k in range(1, max(map(_number, answers)) + 1)]

    def missed(each: dict[str, str], seconds: float) -> dict[str, str]:
        found = missing(name, [each.get(key, others.get(key)) for key in ordered], seconds)
        return {key: lack for key, lack in zip(ordered, found, strict=True) if key in answers}

    lacks = missed(answers, SECONDS)
    if not any(lacks.values()):
        return lacks
    beside = _beside(nb, lesson_sources(name))
    whole = {key: one if one.startswith("%%") else beside.get(key, one) for key, one in answers.items()}
    if whole == answers:
        return lacks
    again = missed(whole, max(1.0, SECONDS - (time.monotonic() - began)))
    return {key: lack if again[key] else "" for key, lack in lacks.items()}


def _beside(nb: Any, given: list[str]) -> dict[str, str]:
    """The student's code up to each check, in the notebook's order: a helper or an import in a cell of its own, or in
    one of the lesson's, the half of a cell that was split. `given` is the lesson's code. All of it together is read as
    far as one answer would be.
    """
    found, code, theirs, room = dict[str, str](), list[str](), {source.strip() for source in given}, LONGEST_ANSWER
    left = MOST_STATEMENTS
    for cell in nb.cells:
        mark = cell.metadata.get("nbgrader", {})
        if key := _key(mark):
            found[key] = "\n\n".join(code)
            code = []
        elif cell.cell_type == "code" and cell.source.strip() not in theirs and len(cell.source) <= room:
            room -= len(cell.source)
            if mark.get("solution"):
                code.append(cell.source)
            else:
                statements = _statements(cell.source)[:left]
                left -= len(statements)
                code += [text for node in statements if (text := _definition(node, given))]
    return found


def _definition(node: ast.stmt, given: list[str]) -> str:
    """What other code may use of a statement in a cell: an import, a function, a class or a value, or nothing where
    that fails; "" for one that somebody has to read. What else a cell does, a plot, say, no answer needs.
    """
    if not isinstance(node, DEFINITIONS):
        return ""
    tried = ast.Try([node], [ast.ExceptHandler(ast.Name("Exception"), None, [ast.Pass()])], [], [])
    try:
        text = ast.unparse(tried)
        return "" if reached(text, given) else text
    except UNREADABLE:  # `symtable` knows errors that the parser does not
        return ""


def _statements(source: str) -> list[ast.stmt]:
    """Those of a cell; none of one that is no Python."""
    try:
        return ast.parse(source).body
    except UNREADABLE:
        return []


def _answers(nb: Any) -> dict[str, str]:
    """The answers by their marks. Where the exercise is a file, students change its cell, or write code for the cell
    behind it, which changes the file: without code there the file is the answer.
    """
    found, file = dict[str, str](), ""
    for cell in nb.cells:
        mark = cell.metadata.get("nbgrader", {})
        if mark.get("solution") and cell.cell_type == "code" and _lesson(str(mark.get("grade_id"))) in LESSONS:
            own = _has_code(cell.source)  # whoever runs it says what is wrong
            found[mark["grade_id"]] = cell.source if own else file or cell.source
            file = ""
        elif (
            isinstance(tags := cell.metadata.get("tags"), list) and "exercise" in tags and cell.source.startswith("%%")
        ):
            file = cell.source
    return found


def _has_code(source: str, unreadable: bool = True) -> bool:
    """Whether it has a statement of Python; `unreadable` for what is too long, or no Python."""
    if len(source) > LONGEST_ANSWER:
        return unreadable
    try:
        return bool(ast.parse(source).body)
    except UNREADABLE:
        return unreadable


def _number(key: str) -> int:
    return int(key.rpartition("-")[2])
