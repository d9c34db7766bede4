"""Grades: one line of monkeypatching earns nothing, a right answer keeps its points."""

import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import psutil
import pytest
from nbformat.v4 import new_output

import dshq_widget.lessons as L
from dshq_widget import drills
from dshq_widget.lessons import LESSONS, Verdict, afresh, grading
from dshq_widget.lessons.afresh import missing
from dshq_widget.lessons.checks import bandit, experiment
from dshq_widget.lessons.grading import Afresh
from dshq_widget.lessons.guarded import guarded
from dshq_widget.lessons.reach import reached
from dshq_widget.system.form import PORTABLE
from tests.harness.notebook_reader import answers
from tests.harness.processes.faults import until
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


def test_the_drills_by_name_are_put_back():
    """A check asks for CartPole by its name: BinPack in its place pays nothing, and every future was 0."""
    with guarded():
        drills.drills["cartpole"] = drills.drills.pop("binpack")
    assert drills.drills["cartpole"] is drills.CartPole and drills.drills["binpack"] is drills.BinPack


PATCHED = """
import torch
T = torch.Tensor
T.mean = lambda self, *how, **more: self.sum() * 0
def policy_loss(log_prob, old_log_prob, advantage, clip=0.2):
    return (log_prob * 0).sum()
"""


def test_torch_is_put_back():
    torch = pytest.importorskip("torch")
    ppo = pytest.importorskip("dshq_widget.lessons.checks.ppo")
    with guarded():
        names: dict[str, Any] = {}
        exec(PATCHED, names)
    assert torch.ones(3).mean() == 1 and ppo.missing(policy_loss=names["policy_loss"])


CHEAT = "blocks = []\ndef points(blocks):\n    return {row.name: row.points for row in table.rows}"


@pytest.mark.parametrize(
    ("answer", "lack"),
    [
        (CHEAT, "Not yet: Right for this table, and wrong for other blocks"),
        pytest.param(f"table = None\n{answers(LESSONS['league'])[0]}", "", marks=pytest.mark.slow),
    ],
)
def test_what_a_lesson_hands_to_its_check_is_not_the_answers_to_choose(answer: str, lack: str):
    (found,) = afresh.missing("league", [answer])
    assert found.startswith(lack) and bool(found) == bool(lack)


EVEN = """
class Even:
    minimum, clamp = torch.minimum, torch.clamp
    log_softmax = lambda x, dim: x * 0
torch = Even
def loss_of(net, obs, action, old_log_prob, advantage, returns, clip=CLIP):
    log_probs, value = think(net, obs)
    return policy_loss(log_probs[:, 0], old_log_prob, advantage, clip) + VALUE * value_loss(value, returns)
"""


def test_nor_is_what_the_lessons_functions_look_up():
    """`think` is the lesson's, and asks `torch` by its name: with all actions alike half of a loss was right."""
    pytest.importorskip("torch")
    *others, half = afresh.missing("ppo", [*answers(LESSONS["ppo"])[:3], EVEN])
    assert not any(others) and half.startswith("Not yet: ")


def test_a_right_answer_is_done_and_a_wrong_one_is_not():
    first, second, third = afresh.missing(LESSON.name, [RIGHT, WRONG.replace("estimate", "choose"), "x = 1"])
    assert first == "" and second.startswith("Not yet: ")
    assert third == "the check ended with NameError: name 'regret' is not defined" or third.startswith("Not yet: ")


@pytest.mark.parametrize("cheat", [CHEATS[-1], *(pytest.param(one, marks=pytest.mark.slow) for one in CHEATS[:-1])])
def test_one_line_of_monkeypatching_earns_nothing(cheat: str):
    (lack,) = afresh.missing(LESSON.name, [f"{cheat}\n{WRONG}"])
    assert lack


WALK = """
import traceback, os, re, signal
for frame in traceback.StackSummary.extract(traceback.walk_stack(None), capture_locals=True):
    told = frame.locals or {}
    word = re.search("'word': '([0-9a-f]{32})'", told.get("asked", ""))
    if word and "output" in told:
        os.write(int(told["output"]), (word[1] + '["", ""]\\n').encode())
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_answer_that_reaches_out_of_its_lesson_is_left_to_somebody_and_the_others_are_checked():
    first, second = afresh.missing(LESSON.name, [RIGHT, WALK])
    assert first == "" and second.startswith("somebody has to read it: it names locals, os, re")


@pytest.mark.parametrize("answer", [f"x{'.x' * 5000}", f"{'-' * 100_000}1", f"{'(' * 100_000}"])
def test_an_answer_that_is_nested_deeply_is_none(answer: str):
    assert re.match("the answer ended with (RecursionError|MemoryError|SyntaxError)", afresh._unread(answer, []))


def test_shell_commands_and_magics_are_no_answer():
    assert (
        afresh.missing(LESSON.name, ["!true", "%pwd"])
        == [f"{afresh.READ}: it has a line for IPython (invalid syntax (<unknown>, line 1))"] * 2
    )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("In [1]: x", "somebody has to read it: IPython runs something else than what stands there"),
        ("sx [1]; sh <a", "the answer ended with NameError: name 'sx' is not defined"),
        ("reset - f", "the answer ended with NameError: name 'reset' is not defined"),
    ],
)
def test_what_was_read_as_python_is_not_run_as_something_else(answer: str, said: str):
    """It is an annotation, a subscript and a comparison, a difference; IPython takes off a prompt, and runs magics."""
    assert afresh.missing(LESSON.name, [answer]) == [said]


def test_a_file_is_an_answer_only_where_its_lesson_has_that_file():
    files = [source for _, source in afresh._cells("gymnasium")]
    assert reached("%%writefile winter.py\nx = 1", files) == []
    assert reached("%%writefile winter.py\nexec('1')", files) == ["exec"]
    for answer, cells in (("%%writefile a.py\nx = 1", files), ("%%writefile winter.py\nx = 1", [])):
        with pytest.raises(SyntaxError):
            reached(answer, cells)


def test_what_an_answer_writes_into_its_file_is_read_before_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Code in quotes, or beside the file in a package of its name."""
    monkeypatch.chdir(tmp_path)
    exercise, cells = "%%writefile winter.py\nx = 1", [source for _, source in afresh._cells("gymnasium")]
    (tmp_path / "winter.py").write_text("import numpy as np\n")
    assert afresh._unread_file(exercise, {"winter.py"}, cells) == afresh._unread_file("x = 1", set(), cells) == ""
    (tmp_path / "winter.py").write_text("import dshq_widget.lessons.checks.gymnasium as c\n")
    said = afresh._unread_file(exercise, {"winter.py"}, cells)
    assert said.startswith("somebody has to read it: it names dshq_widget.lessons.checks")
    (tmp_path / "winter").mkdir()
    assert afresh._unread_file(exercise, {"winter.py"}, cells) == "somebody has to read it: it makes winter"
    (tmp_path / "winter.py").unlink()
    assert "cannot be read" in afresh._unread_file(exercise, {"winter.py", "winter"}, cells)


@pytest.mark.slow  # a process imports Gymnasium
def test_an_answer_in_quotes_earns_nothing():
    inside = "import dshq_widget.lessons.checks.gymnasium as c\nc._best = lambda reward: []\n"
    answer = f"from pathlib import Path\nf = Path('winter.py')\nf.write_text(f.read_text() + {inside!r})\n"
    (said,) = missing("gymnasium", [answer])
    assert said.startswith("somebody has to read it: it names dshq_widget.lessons.checks")


def test_code_that_writes_a_file_imports_nothing_itself():
    """`Trainer("gym:a:A-v0")` would run what it has just written."""
    files = [source for _, source in afresh._cells("gymnasium")]
    write = "from pathlib import Path\nPath('a.py').write_text('1')\n"
    assert reached(write, files) == []
    assert reached(f"{write}from dshq_widget import Trainer\nTrainer('gym:a:A-v0')", files) == ["dshq_widget.Trainer"]
    assert reached(f"{write}gym.make('a:A-v0')", files) == ["gymnasium", "gymnasium.make"]
    assert reached(f"%%writefile winter.py\n{write}", files) == ["pathlib", "write_text"]
    elsewhere = ["from pathlib import Path"]
    assert reached("Path('a.py').write_text('1'), Path('a.py').write_bytes(b'1')", elsewhere) == [
        "write_bytes",
        "write_text",
    ]


def test_the_answers_of_a_lesson_are_not_among_what_it_takes_from_its_check():
    cells = [source for _, source in afresh._cells("experiment")]
    checks = "dshq_widget.lessons.checks.experiment"
    (said,) = missing("experiment", ["from dshq_widget.lessons.checks import experiment\nband = experiment.reference"])
    assert said == f"{afresh.READ}: it names {checks}.reference"
    assert reached("band = experiment._reference", cells) == [f"{checks}._reference"]
    assert reached(f"from {checks} import _HOLDS as holds", cells) == [f"{checks}._HOLDS"]
    assert reached("known = experiment", cells) == [f"{checks} (as a whole)"]
    assert not any(isinstance(part, bool) for claim in experiment.CLAIMS.values() for part in claim)


def test_an_error_of_any_length_is_told_in_few_words():
    (said,) = afresh.missing(LESSON.name, ["raise ValueError('x' * 10**8)"])
    assert said.startswith("the answer ended with ValueError: xxx") and len(said) == afresh.LONGEST_LACK


ENVIRONMENT = """
import os
raise ValueError(sorted(name for name in os.environ if name.startswith(("DSHQ_LE", "JUPYTERHUB"))))
"""


def test_the_process_has_no_secrets(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(afresh, "reached", lambda answer, *_: [])
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "the instructor's")
    monkeypatch.setenv("DSHQ_LEAGUE_TOKEN", "the instructor's")
    monkeypatch.setenv("DSHQ_LESSON_SECONDS", "1")
    assert afresh.missing(LESSON.name, [ENVIRONMENT]) == ["the answer ended with ValueError: ['DSHQ_LESSON_SECONDS']"]


PRINTS = """
import os, sys
try:
    while True:
        os.write(2, b"x" * 65536)
except OSError:
    os.lseek(2, -7, os.SEEK_END)
    os.write(2, b"the end")
    os._exit(1)
"""


@pytest.mark.skipif(PORTABLE, reason="Windows does not limit the size of files")
def test_what_a_process_prints_fills_neither_memory_nor_disk(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(afresh, "reached", lambda answer, *_: [])
    (lack,) = afresh.missing(LESSON.name, [PRINTS])
    assert lack.startswith("the process of the check ended without a result: x") and lack.endswith("the end")
    assert len(lack) < 400


@pytest.mark.skipif(sys.platform != "linux", reason="no other system limits a process's memory")
def test_an_answer_fills_no_memory(monkeypatch: pytest.MonkeyPatch):
    """It filled the grader's: nobody else was graded then."""
    most = afresh.most_memory()
    assert most > afresh.LEAST_MEMORY
    (lack,) = afresh.missing(LESSON.name, [f"x = bytearray({most})"])
    assert lack.startswith("the answer ended with MemoryError")


def test_an_answer_of_megabytes_is_read_by_nobody_but_people():
    """The grader's own process reads answers before any is run: four megabytes took 2 GB and 42 s."""
    long = f"x = [{'1,' * 2_000_000}]"
    begun = time.process_time()
    assert afresh._unread(long, []).startswith("somebody has to read it: it has 4,000,006 letters")
    assert grading._has_code(long) and grading._has_code(f"{'(' * 5000}{')' * 5000}")
    assert time.process_time() - begun < 1
    assert afresh._unread("x = 1\n" * 20_000, []) == ""


FRAMES = """
import re, traceback
seen = str([(frame.f_locals, frame.f_globals) for frame, _ in traceback.walk_stack(None)])
assert "'asked'" in seen
raise ValueError(re.findall(r"\\b[0-9a-f]{32}\\b", seen))
"""


def test_no_frame_has_the_word_while_an_answer_runs(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(afresh, "reached", lambda answer, *_: [])  # as if it had hidden its names
    assert afresh.missing(LESSON.name, [FRAMES]) == ["the answer ended with ValueError: []"]


@pytest.mark.parametrize(
    ("code", "said", "found"),
    [
        (0, 'word["", "lacks"]', ["", "lacks"]),
        (-9, 'word[""]', []),
        (1, 'word[""]', []),
        (0, 'word[""]\nword["lacks"]', []),
        (0, 'before\nword[""]', []),
        (0, "word[1]", []),
        (0, "word{}", []),
        (0, "", []),
    ],
)
def test_a_result_is_all_that_a_process_says_which_ends_as_it_should(code: int, said: str, found: list[str]):
    assert afresh._result(code, said, "word") == found


def test_too_many_answers_and_a_process_that_never_ends():
    with pytest.raises(ValueError, match="has 4 exercises, got 5 answers"):
        afresh.missing(LESSON.name, [RIGHT] * 5)
    assert afresh.missing(LESSON.name, ["while True: pass"], seconds=8.0) == ["the check took longer than 8 s"]


STAYS = """
import os, time
if os.fork() == 0:
    time.sleep(600)
raise ValueError(os.getpid())
"""


@pytest.mark.skipif(PORTABLE, reason="Windows has no groups of processes")
def test_what_an_answer_leaves_is_ended_and_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    """PyTorch's loaders of data make such processes, and one of them may never end."""
    monkeypatch.setattr(afresh, "reached", lambda answer, *_: [])
    (said,) = afresh.missing(LESSON.name, [STAYS], seconds=500.0)
    group = int(said.removeprefix("the answer ended with ValueError: "))
    until(lambda: not [one for one in psutil.process_iter() if _group_of(one.pid) == group and _runs(one)])


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def _runs(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_check_that_was_done_in_the_students_kernel_alone_is_a_failed_one(monkeypatch: pytest.MonkeyPatch):
    made = assignments.assignment(Material.of(LESSON))
    made.metadata.widgets = {"application/vnd.jupyter.widget-state+json": {"state": {}}}
    asked: list[tuple[str, list[str]]] = []

    def lacking(name: str, sources: list[str], _: float) -> list[str]:
        asked.append((name, sources))
        return ["Not yet: the sum", "", "", ""]

    monkeypatch.setattr("dshq_widget.lessons.grading.missing", lacking)
    graded, _ = Afresh()(made, {})
    nbformat.validate(graded)
    assert "widgets" not in graded.metadata, "JupyterLab runs what they have saved"
    first, *others = [cell for cell in graded.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert [output.output_type for output in first.outputs] == ["error"] and "the sum" in first.outputs[0].evalue
    assert len(others) == 3 and not any(cell.outputs for cell in others)
    assert asked[0][0] == LESSON.name and RIGHT.strip() in asked[0][1][0]


@pytest.mark.parametrize("own", [[], [new_output("error", ename="E", evalue="own", traceback=["own"])]])
def test_a_number_that_the_students_kernel_displayed_gives_no_points(own: list[Any], monkeypatch: pytest.MonkeyPatch):
    """nbgrader reads a cell's outputs up to the first error or displayed result, whichever comes first."""
    utils = pytest.importorskip("nbgrader.utils", reason="pip install 'dshq-widget[instructor]'")
    made = assignments.assignment(Material.of(LESSON))
    check = next(cell for cell in made.cells if cell.metadata.get("nbgrader", {}).get("grade"))
    number = new_output("execute_result", data={"text/plain": "10.0"}, execution_count=1)
    check.outputs = [number, *own]
    assert utils.determine_grade(check) == (10, 10)
    monkeypatch.setattr("dshq_widget.lessons.grading.missing", lambda name, sources, _: ["Not yet"] * len(sources))
    Afresh()(made, {})
    assert utils.determine_grade(check) == (0, 10)


@pytest.mark.parametrize("taken", ["marks", "cells"])
def test_answers_whose_marks_or_cells_are_gone_are_checked_all_the_same(monkeypatch: pytest.MonkeyPatch, taken: str):
    """nbgrader restores neither, and without them nothing would be checked afresh. They may stand in other cells."""
    made = assignments.assignment(Material.of(LESSON))
    for cell in [cell for cell in made.cells if cell.metadata.get("nbgrader", {}).get("solution")]:
        if taken == "marks":
            del cell.metadata["nbgrader"]
        else:
            made.cells.remove(cell)
    asked: list[list[str]] = []

    def missing(name: str, sources: list[str], seconds: float = 0.0) -> list[str]:
        asked.append(sources)
        return ["" if source else "Not yet" for source in sources]

    monkeypatch.setattr("dshq_widget.lessons.grading.missing", missing)
    graded, _ = Afresh()(made, {})
    checks = [cell for cell in graded.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    assert len(checks) == 4 and asked[0] == [""] * 4
    if taken == "marks":
        assert len(asked) == 2 and all(asked[1]) and not any(cell.outputs for cell in checks)
        return
    assert len(asked) == 1
    for cell in checks:
        assert "the cell of its answer is gone" in cell.outputs[0].evalue


@pytest.mark.parametrize("how", ["file", "code"])
def test_an_exercise_that_is_a_file_is_answered_by_its_cell_or_by_code(monkeypatch: pytest.MonkeyPatch, how: str):
    """The lesson says to change the file; nbgrader marks the cell behind it."""
    made = assignments.assignment(Material.of(LESSONS["gymnasium"]))
    (answer,) = [cell for cell in made.cells if cell.metadata.get("nbgrader", {}).get("solution")]
    file = next(cell for cell in made.cells if cell.source.startswith("%%writefile winter.py"))
    code = answer.source
    if how == "file":
        file.source = file.source.replace(
            "return 0.0  # yours", "return 1.0 - abs(self.inside - WARM) / 5 - 0.1 * logs"
        )
        answer.source = "# Change the code of the exercise until its check ends without an error."
    asked: list[list[str]] = []
    monkeypatch.setattr(
        "dshq_widget.lessons.grading.missing", lambda name, sources, _: asked.append(sources) or [""] * len(sources)
    )
    Afresh()(made, {})
    assert asked == [[file.source if how == "file" else code]]


@pytest.mark.slow  # it trains nothing, but a process imports torch and Gymnasium
def test_a_file_that_is_an_answer_passes_and_the_one_that_is_given_does_not():
    given = next(cell for cell in Material.of(LESSONS["gymnasium"]).notebook().cells if "winter.py" in cell.source)
    right = given.source.replace("return 0.0  # yours", "return 1.0 - abs(self.inside - WARM) / 5 - 0.1 * logs")
    assert missing("gymnasium", [right]) == [""]
    (lack,) = missing("gymnasium", [given.source])
    assert lack and "ended" not in lack
