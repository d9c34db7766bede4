"""Checks the answers of a lesson once more, in a process where nothing else of the student's notebook has run.

A check runs where the answer is. In a notebook that is the student's own kernel, and one line in any cell, such as
`lessons.check = ...`, gives full points. So the grader starts a process for the answers alone: it runs the cells of the
package's own notebook with the answers in place of the exercises, and, after each answer, puts back what the answer has
changed (guarded.py) before the check looks at it. Who reads the source of the checks still finds how to pass them, and
what an answer does while its check calls it is not undone before that check has ended.

    python -m dshq_widget.lessons.afresh < ANSWERS     {"lesson": name, "answers": [source, ...], "word": a secret}
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from dshq_kernels.backends.own_python import own_python
from dshq_widget.lessons.guarded import guarded
from dshq_widget.lessons.table import lesson
from dshq_widget.notebook.lab import SOURCES

_NAMES = (
    *("_getframe", "currentframe", "f_back", "f_locals", "f_globals", "tb_frame", "gi_frame", "get_objects"),
    *("get_referrers", "settrace", "setprofile", "ctypes", "inspect", "_exit"),
)
REACHES = re.compile(rf"\b(?:{'|'.join(_NAMES)})\b|/proc/")
"""What an answer would reach the check's own process with: its word, and the descriptor that its result goes to. No
exercise needs any of them. Who hides the names (`getattr` and text put together) still gets there.
"""
SECONDS = 900.0
"""For a lesson, on a busy machine that never compiled anything."""


def missing(name: str, answers: Sequence[str], seconds: float = SECONDS) -> list[str]:
    """What the answers to the exercises of a lesson still lack, in their order, "" for one that is done. Starts a
    process. Raises ValueError for an unknown lesson, or where there are more answers than exercises.
    """
    exercises = sum("exercise" in tags for tags, _ in _cells(name))
    if len(answers) > exercises:
        raise ValueError(f"lesson {name!r} has {exercises} exercises, got {len(answers)} answers")
    named = [", ".join(sorted(set(REACHES.findall(answer)))) for answer in answers]
    answers = ["" if names else answer for answer, names in zip(answers, named, strict=True)]
    word = secrets.token_hex(16)
    asked = json.dumps({"lesson": name, "answers": list(answers), "word": word})
    command = own_python("-m", "dshq_widget.lessons.afresh")
    try:
        done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return [f"the check took longer than {seconds:g} s"] * len(answers)
    found = [line.removeprefix(word) for line in done.stdout.splitlines() if line.startswith(word)]
    if len(found) != 1:
        last = " ".join(done.stderr.split())[-300:]
        return [f"the process of the check ended without a result: {last}"] * len(answers)
    lacks = json.loads(found[0])
    return [
        f"somebody has to read it: it names {names}" if names else lack
        for lack, names in zip(lacks, named, strict=True)
    ]


def _cells(name: str) -> list[tuple[list[str], str]]:
    """Tags and source of the code cells of a lesson's notebook, as the package has it."""
    folder = next(path for path in SOURCES if path.is_dir())
    made = json.loads((folder / f"{lesson(name).stem}.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    return [(cell["metadata"].get("tags", []), "".join(cell["source"])) for cell in cells]


def _run(name: str, answers: Sequence[str]) -> list[str]:
    from IPython.core.interactiveshell import InteractiveShell

    from dshq_widget.lessons import Verdict, check

    importlib.import_module(lesson(name).checked_by)
    shell = InteractiveShell.instance()
    left, found = list(answers), list[str]()
    for tags, source in _cells(name):
        if len(found) == len(answers):
            break
        if "exercise" in tags:
            with guarded():
                ran = shell.run_cell(left.pop(0))
            if not ran.success:
                error = ran.error_in_exec or ran.error_before_exec
                found.append(f"the answer ended with {type(error).__name__}: {error}")
        elif "check" in tags:
            if len(found) == len(answers) - len(left):  # the answer itself has failed
                continue
            shell.run_cell(ast.unparse(ast.Module(ast.parse(source).body[:-1], [])))
            call = ast.Expression(ast.parse(source).body[-1].value)  # type: ignore[attr-defined]
            try:
                with guarded():  # the check calls what the answer has made
                    verdict = eval(compile(call, "<check>", "eval"), {**shell.user_ns, "check": check})
            except Exception as error:  # of a name that the answer does not have, for example
                found.append(f"the check ended with {type(error).__name__}: {error}")
            else:
                found.append("" if type(verdict) is Verdict and verdict.done else repr(verdict))
        else:
            shell.run_cell(source)
    return found + ["its check was not reached"] * (len(answers) - len(found))


def main() -> None:
    """Read what is asked from stdin; the last line of stdout is the secret word and the result as JSON."""
    asked = json.loads(sys.stdin.read())
    output = os.dup(1)
    os.dup2(2, 1)  # what cells print is not the result
    folder = Path.cwd()
    found = _run(asked["lesson"], asked["answers"])
    os.chdir(folder)
    os.write(output, f"{asked['word']}{json.dumps(found)}\n".encode())
    os._exit(0)  # what the lesson has started ends with this process


if __name__ == "__main__":
    main()
