"""Checks the answers of a lesson once more, in a process where nothing else of the student's notebook has run.

A check runs where the answer is. In a notebook that is the student's own kernel, and one line in any cell, such as
`lessons.check = ...`, gives full points. So the grader starts a process for the answers: it runs the cells of the
package's own notebook with the answers in place of the exercises, and, after each answer, puts back what the answer has
changed (guarded.py) before the check looks at it. An answer that reaches out of its lesson is not run (reach.py). What
it does while its check calls it is not undone before that check has ended; so the check then looks at the exercise as
it was given, too, which it must not take for done. Who reads the source of the checks still finds how to pass them.

    python -m dshq_widget.lessons.afresh < ASKED     two lines: {"lesson": name, "answers": [source, ...]}, a secret
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import json
import os
import re
import secrets
import subprocess
import tempfile
import types
from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from dshq_kernels.backends.own_python import own_python
from dshq_widget.files import reading
from dshq_widget.lessons.guarded import guarded
from dshq_widget.lessons.reach import FILE, reached
from dshq_widget.lessons.table import lesson
from dshq_widget.notebook.lab import SOURCES
from dshq_widget.runtime.budget import memory_available
from dshq_widget.runtime.variables import without_secrets
from dshq_widget.runtime.words import said
from dshq_widget.system import processes
from dshq_widget.system.limits import limit_files, limit_memory, processors

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

SECONDS = 900.0
"""For a lesson, on a busy machine that never compiled anything."""
KEPT = ("DSHQ_LESSON_SECONDS", "DSHQ_RUNS_DIR", "IPYTHONDIR", "MPLCONFIGDIR")
"""Variables that such a process gets beside those that every program needs: no secrets."""
LARGEST_FILE = 1 << 28
"""Bytes that the process may write into one file: a policy's, at most. What it prints goes into one, too."""
LONGEST_ANSWER = 200_000
"""Letters of an answer that the grader's own process reads; lessons' have a hundredth. Four million took 2 GB."""
LEAST_MEMORY, LEAST_EACH = 2 << 30, 64 << 20
"""Bytes that it may have in any case, ten times a lesson's; and for each processor, whose threads take that."""
LAST_PRINTED, LONGEST_LACK, LONGEST_RESULT = 300, 2000, 1 << 20
"""Bytes that are read of it; letters of what is said of one answer, whose error may say anything; bytes of all that."""
READ = "somebody has to read it"
"""What is said of an answer that was not run begins so."""
ANYTHING = f"{READ}: with it, its check is also done for the exercise as it was given"
FOR_IPYTHON = re.compile(r"(?m)^\s*[%!?]|\?\s*$")
"""Lines that a notebook runs and Python does not: `%%time`, `!ls`, `np.add?`."""


def missing(name: str, answers: Sequence[str | None], seconds: float = SECONDS) -> list[str]:
    """What the answers to the exercises of a lesson still lack, in their order, "" for one that is done. None is one
    that nobody was asked for: the exercise stays as it was. Starts a process. Raises ValueError for an unknown lesson,
    or where there are more answers than exercises.
    """
    exercises = exercises_of(name)
    if len(answers) > len(exercises):
        raise ValueError(f"lesson {name!r} has {len(exercises)} exercises, got {len(answers)} answers")
    lesson_cells = lesson_sources(name)
    given = [start if answer is None else answer for answer, start in zip(answers, exercises, strict=False)]
    unread = [_unread(answer, lesson_cells, given[:k]) for k, answer in enumerate(given)]
    word = secrets.token_hex(16)
    # the exercise as it was in the place of an answer that is not run: the lesson goes on with what it imports
    runs = [start if why else answer for answer, why, start in zip(given, unread, exercises, strict=False)]
    asked = {"lesson": name, "answers": runs}
    command = own_python("-m", "dshq_widget.lessons.afresh")
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile() as said,  # not a pipe, whose end comes with that of all that an answer has started
        tempfile.TemporaryFile() as printed,
    ):
        how: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": said, "stderr": printed, "cwd": folder}
        process = subprocess.Popen(command, env=environment(), **how, **processes.GROUP)
        try:
            process.communicate(f"{json.dumps(asked)}\n{word}\n".encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            return [f"the check took longer than {seconds:g} s"] * len(answers)
        finally:
            process.kill()
            processes.end_group(process.pid)
            process.wait()
        said.seek(0)
        lacks = _result(process.returncode, said.read(LONGEST_RESULT).decode(errors="replace"), word)
        if len(lacks) != len(answers):
            printed.seek(max(0, printed.seek(0, os.SEEK_END) - LAST_PRINTED))
            last = " ".join(printed.read(LAST_PRINTED).decode(errors="replace").split())
            return [f"the process of the check ended without a result: {last}"] * len(answers)
    return _after_unread([_writable(why or lack) for lack, why in zip(lacks, unread, strict=True)])


def _writable(lack: str) -> str:
    """As a notebook can have it: half of a character, as in an error of somebody's own, no file holds."""
    return lack[:LONGEST_LACK].encode(errors="backslashreplace").decode()


def _after_unread(lacks: list[str]) -> list[str]:
    """The same, where an answer that was not run may be what a later one lacks: that one is not simply wrong."""
    found = list[str]()
    for lack in lacks:
        if lack and not lack.startswith(READ) and any(one.startswith(READ) for one in found):
            lack = f"{READ}: an answer before it was not run, and without that one: {lack}"
        found.append(lack)
    return found


def environment() -> dict[str, str]:
    """The variables of a process that runs what students have written."""
    return without_secrets(os.environ) | {name: os.environ[name] for name in KEPT if name in os.environ}


def most_memory() -> int:
    """Bytes that a process may have that runs what students have written: half of what is free."""
    return max(LEAST_MEMORY + LEAST_EACH * len(processors()), int(memory_available() / 2))


def _unread(answer: str, lesson_cells: list[str], before: list[str] | None = None) -> str:
    """Why an answer is not run, "" if it is; `before` are those that run first."""
    if len(answer) > LONGEST_ANSWER:
        return f"{READ}: it has {len(answer):,} letters, more than {LONGEST_ANSWER:,}"
    try:
        names = reached(answer, lesson_cells, before)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # of a NUL, and of what is nested deeply
        if type(error) is SyntaxError and FOR_IPYTHON.search(answer):
            return f"{READ}: it has a line for IPython ({error})"
        return f"the answer ended with {type(error).__name__}: {error}"
    return f"{READ}: it names {', '.join(names)}" if names else ""


def _unread_file(exercise: str, beside: Set[str], lesson_cells: list[str]) -> str:
    """Why the file that an exercise is, and an answer has changed, is not imported, "" if it is, or the exercise is no
    file. What was to be read of it may have stood in the answer's texts. `beside` are the names in the folder before.
    """
    if (head := FILE.match(exercise)) is None:
        return ""
    name = head.group().split()[1]
    if others := {*os.listdir()} - beside:  # a package of that name, say, or its machine code
        return f"{READ}: it makes {', '.join(sorted(others))}"
    try:
        text = reading.content_of(name, LONGEST_ANSWER).decode()
    except (OSError, ValueError) as error:
        return f"{READ}: what it makes of {name} cannot be read: {error}"
    return _unread(head.group() + text, lesson_cells)


def _result(code: int, said: str, word: str) -> list[str]:
    """What a process that ended as it should, with code 0, has written, and nothing else; else none."""
    if code != 0 or not said.startswith(word):
        return []
    try:
        found = json.loads(said.removeprefix(word))
    except ValueError:
        return []
    return found if isinstance(found, list) and all(isinstance(lack, str) for lack in found) else []


def _cells(name: str) -> list[tuple[list[str], str]]:
    """Tags and source of the code cells of a lesson's notebook, as the package has it."""
    folder = next(path for path in SOURCES if path.is_dir())
    made = json.loads((folder / f"{lesson(name).stem}.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    return [(cell["metadata"].get("tags", []), "".join(cell["source"])) for cell in cells]


def exercises_of(name: str) -> list[str]:
    """The code of a lesson's exercises, in their order, as the package has it."""
    return [source for tags, source in _cells(name) if "exercise" in tags]


def lesson_sources(name: str) -> list[str]:
    """The code of a lesson, as the package has it."""
    return [source for _, source in _cells(name)]


def _run(name: str, answers: Sequence[str]) -> list[str]:
    from IPython.core.interactiveshell import InteractiveShell

    from dshq_widget.lessons import Verdict, judged

    judgements = list[tuple[str, ...]]()  # an answer may reach a verdict, or what makes one, and not these

    def check(*answer: Any, **named: Any) -> Verdict:
        judgements.append((judgement := judged(*answer, **named))[0])
        return Verdict(*judgement)

    def asked(code: types.CodeType, names: dict[str, Any]) -> tuple[str, ...] | str:
        """What a check says is missing, or why it says nothing."""
        judgements.clear()
        try:
            verdict = eval(code, names)
        except BaseException as error:  # of a name that the answer does not have, for example
            return f"the check ended with {said(error)}"
        return judgements[0] if type(verdict) is Verdict and len(judgements) == 1 else "the check gave no verdict"

    importlib.import_module(lesson(name).checked_by)
    shell = InteractiveShell.instance()
    shell.automagic, shell.autocall = False, 0  # `sx [1]; sh <a` would be a shell's command, `a < b` is Python
    left, found = list(answers), list[str]()
    given, start = dict[str, Any](), dict[str, Any]()
    theirs = {made for tags, source in _cells(name) if "exercise" in tags for made in _made(source)}
    for tags, source in _cells(name):
        if len(found) == len(answers):
            break
        if "exercise" in tags:
            start = {}
            if source.startswith("%%"):  # the file that the answer changes
                shell.run_cell(source)
            else:
                given |= _imported(source)
                with guarded(), contextlib.suppress(Exception):  # what an earlier answer has taken away
                    start = _started(source, shell.user_ns)
            answer, beside = left.pop(0), {*os.listdir()}
            if not (FILE.match(answer) or _is_plain(answer, shell)):
                found.append(f"{READ}: IPython runs something else than what stands there")
                continue
            with guarded():  # also while an error of the answer's own says itself
                ran = shell.run_cell(answer)
                error = ran.error_in_exec or ran.error_before_exec
                lack = "" if ran.success else f"the answer ended with {said(error)}"
            if lack:
                found.append(lack)
            elif why := _unread_file(source, beside, lesson_sources(name)):
                found.append(why)
        elif "check" in tags:
            if len(found) == len(answers) - len(left):  # the answer itself has failed
                continue
            with guarded():
                shell.run_cell(ast.unparse(ast.Module(ast.parse(source).body[:-1], [])))
            call: Any = ast.Expression(ast.parse(source).body[-1].value)  # type: ignore[attr-defined]
            code, names = compile(call, "<check>", "eval"), _names(shell.user_ns, {**given, "check": check})
            with guarded():  # the check calls what the answer has made
                judgement = asked(code, names)
                if judgement == () and start.keys() & set(code.co_names) and asked(code, {**names, **start}) == ():
                    judgement = ANYTHING
            found.append(judgement if isinstance(judgement, str) else repr(Verdict(judgement, "")) if judgement else "")
        else:
            before = dict(shell.user_ns)
            with guarded():  # the lesson may call what the answer has made
                shell.run_cell(source)
            now = shell.user_ns.items()
            given |= {key: value for key, value in now if key not in theirs and before.get(key, now) is not value}
    return found + ["its check was not reached"] * (len(answers) - len(found))


def _names(theirs: dict[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The names of a check: the student's, and what is `given` by the lesson, whose functions look up what they use
    there, too: the student may have set it.
    """
    names = {**theirs, **given}
    for key, value in given.items():
        if type(value) is types.FunctionType and value.__globals__ is theirs:
            names[key] = types.FunctionType(
                value.__code__, names, value.__name__, value.__defaults__, value.__closure__
            )
            names[key].__kwdefaults__ = value.__kwdefaults__
    return names


def _imported(source: str) -> dict[str, Any]:
    """What the code of an exercise imports, by name."""
    imports: list[ast.stmt] = [node for node in ast.parse(source).body if isinstance(node, ast.Import | ast.ImportFrom)]
    found = dict[str, Any]()
    exec(compile(ast.Module(imports, []), "<exercise>", "exec"), found)  # the package's own lesson
    del found["__builtins__"]
    return found


def _started(source: str, names: Mapping[str, Any]) -> dict[str, Any]:
    """What an exercise makes as it was given, by name; `names` are those that are there by then."""
    theirs = dict(names)
    exec(compile(source, "<exercise>", "exec"), theirs)  # the package's own lesson
    return {name: theirs[name] for name in _made(source) if name in theirs}


def _made(source: str) -> set[str]:
    """What the code of an exercise sets, and its answer may; everything else that a check is given is the lesson's."""
    tree = ast.parse(FILE.sub("", source))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return defined | {
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _is_plain(answer: str, shell: InteractiveShell) -> bool:
    """Whether IPython runs an answer as the Python that was read (reach.py), without its prompts and magics."""
    return ast.dump(ast.parse(shell.transform_cell(answer))) == ast.dump(ast.parse(answer))


def main() -> None:
    """Read what is asked from stdin; stdout gets the secret word and the result as JSON. The word is not read before
    all answers have been checked, and then stands in no variable.
    """
    processes.die_with(os.getppid(), 1)
    asking, output = os.dup(0), os.dup(1)
    limit_files(LARGEST_FILE)
    limit_memory(most_memory())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)  # what cells print is not the result
    with open(asking, "rb", buffering=0, closefd=False) as line:  # not a byte more than the line
        asked = json.loads(line.readline())
    found = json.dumps([lack[:LONGEST_LACK] for lack in _run(asked["lesson"], asked["answers"])])
    os.write(output, os.read(asking, 1000).strip() + found.encode())
    os._exit(0)  # what the lesson has started ends with this process


if __name__ == "__main__":
    main()
