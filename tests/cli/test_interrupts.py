"""Ctrl-C and SIGTERM end `dshq train` at any moment, say what was kept, and leave no process behind."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from dshq_widget.cli import interrupts
from dshq_widget.policy import checkpoint
from tests.harness.processes.faults import Started

PATIENCE = 120.0  # seconds, for a machine that never compiled anything
SOON = ["--workers", 0, "--num-envs", 64, "--rollout-length", 8, "--minibatch-size", 256, "--autosave-seconds", 0.3]
SOON += ["--pace", 50_000]
"""Updates and files that come soon and take little, after a start that measures nothing."""


@dataclass
class Ended:
    """How an interrupted command ended."""

    status: int
    said: str
    result: dict | None
    left: set[int]


def begun(process: subprocess.Popen) -> bool:
    """Whether it is past Python's own start, which a signal ends in other ways: it has loaded a library."""
    return process.poll() is not None or "numpy" in Path(f"/proc/{process.pid}/maps").read_text()


def interrupted(number: int, *arguments, after: float | None = None, once: Path | None = None, group=False) -> Ended:
    """Run `dshq train`, send it a signal `after` so many seconds or `once` a file is there, and wait."""
    command = ("-m", "dshq_widget.cli", "train", *map(str, arguments), "--json")
    started = Started(*command, stderr=subprocess.PIPE)
    run, family = started.process, started.family
    deadline = time.monotonic() + PATIENCE
    if once is not None:
        while (
            not (came := any(once.parent.parent.glob(f"{once.parent.name}/{once.name}")))
            and run.poll() is None
            and time.monotonic() < deadline
        ):
            time.sleep(0.05)
        if not came:
            os.killpg(run.pid, signal.SIGKILL)
            pytest.fail(f"{once} did not come: {run.communicate()}")
    while not begun(run) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(after or 0.0)
    (os.killpg if group else os.kill)(run.pid, number)
    out, err = run.communicate(timeout=PATIENCE)
    lines = [line for line in out.splitlines() if line.startswith("{")]
    enough = time.monotonic() + PATIENCE
    while family.members() and time.monotonic() < enough:
        time.sleep(0.05)
    return Ended(run.returncode, err, json.loads(lines[-1]) if lines else None, family.members())


def check(end: Ended, number: int, out: Path) -> None:
    """Status, no process left, and the truth about what was kept."""
    early = (-number,)  # before the command watches for signals, the system ends it
    assert end.status in (128 + number, *early), end.said
    assert not end.left, (end.left, end.said)
    assert "Traceback" not in end.said or end.status in early, end.said
    if out.exists():
        assert f"is kept in {out}" in end.said and end.result and end.result["out"] == str(out)
        assert f"version {checkpoint.load(out).version} " in end.said
    else:
        assert "is kept in" not in end.said
    assert [path.name for path in out.parent.iterdir() if path.suffix not in (".dshq", ".yaml")] == []


EARLY = """
import os, signal, sys
signal.signal(signal.SIGINT, getattr(signal, sys.argv[2]))
class Late:
    def find_spec(self, name, path, target=None):
        if name == "dshq_widget.cli.main":
            os.kill(os.getpid(), int(sys.argv[1]))
sys.meta_path.insert(0, Late())
from dshq_widget.cli import entry
entry.main()
"""


def test_next_to_nothing_is_imported_before_a_signal_is_heard():
    code = "import sys; had = {*sys.modules}; import dshq_widget.cli.entry; print(*{*sys.modules} - had)"
    path = os.pathsep.join(sys.path)  # what -S leaves out, where packages are installed to be edited
    command = [sys.executable, "-S", "-c", code]
    took = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": path})
    imported = {*took.stdout.split()}
    own = {name for name in imported if name.startswith("dshq_widget.")} - {"dshq_widget.contract.version"}
    own -= {"dshq_widget.runtime", "dshq_widget.runtime.torch_code"}  # which imports nothing, before torch is
    assert own == {"dshq_widget.contract", "dshq_widget.cli", "dshq_widget.cli.entry"}
    assert not {"typing", "contextlib", "importlib", "re", "inspect", "argparse", "numpy"} & imported


@pytest.mark.parametrize("first", ["default_int_handler", "SIG_IGN"], ids=["foreground", "background of a script"])
@pytest.mark.parametrize(("number", "by"), [(signal.SIGINT, "Ctrl-C"), (signal.SIGTERM, "SIGTERM")])
def test_it_ends_while_the_verbs_are_imported(number, by, first):
    """A shell without job control begins what it starts by `&` with SIGINT ignored."""
    run = subprocess.run([sys.executable, "-c", EARLY, str(int(number)), first], stderr=subprocess.PIPE, text=True)
    assert (run.returncode, run.stderr) == (128 + number, f"\ndshq: stopped by {by}\n")


STANDS = """
import os, signal, time
from dshq_widget.cli import interrupts
interrupts.HELD_SECONDS = 0.3
with interrupts.watched():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(300)
    except KeyboardInterrupt:
        interrupts.hold()
        time.sleep(300)
"""


BREAKS = """
import os, signal, sys, time
from dshq_widget.cli import main
def breaks(options):
    "Be stopped in the middle of an import."
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(300)
    finally:
        raise {error}("half an import")
main.VERBS += (breaks,)
sys.exit(main.main(["breaks"]))
"""


@pytest.mark.parametrize("error", ["KeyError", "RuntimeError", "ValueError"])
def test_what_a_stop_breaks_on_its_way_is_the_stop(error):
    command = [sys.executable, "-c", BREAKS.format(error=error)]
    run = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert (run.returncode, run.stderr) == (143, "\ndshq: stopped by SIGTERM\n")


OUTLIVED = """
import threading, time
from dshq_widget.cli import entry, main
entry.END_SECONDS, main.main = 0.3, lambda: 143
threading.Thread(target=time.sleep, args=[300]).start()
raise SystemExit(entry.main())
"""


def test_a_thread_that_does_not_end_holds_up_nothing():
    assert subprocess.run([sys.executable, "-c", OUTLIVED], timeout=PATIENCE).returncode == 143


def test_an_end_that_waits_for_something_that_does_not_come_is_forced():
    run = subprocess.run([sys.executable, "-c", STANDS], stderr=subprocess.PIPE, text=True, timeout=PATIENCE)
    assert (run.returncode, run.stderr) == (143, "\ndshq: stopped by SIGTERM\n")


@pytest.mark.parametrize(("number", "after"), [(signal.SIGINT, 0.3), (signal.SIGTERM, 1.2)])
def test_it_ends_before_training_has_begun(tmp_path, number, after):
    out = tmp_path / "bot.dshq"
    check(interrupted(number, "ball", "--seconds", 600, "--out", out, after=after), number, out)


@pytest.mark.parametrize(
    ("number", "group"),
    [(signal.SIGTERM, False), (signal.SIGTERM, True), (signal.SIGHUP, True)],
    ids=["process", "group", "terminal"],
)
def test_after_an_autosave_nothing_is_lost(tmp_path, number, group):
    """`timeout`, a scheduler or a terminal that is closed ends the whole group: the learner saves all the same."""
    out = tmp_path / "bot.dshq"
    arguments = ["ball", "--seconds", 600, *SOON, "--out", out]
    end = interrupted(number, *arguments, once=out, after=0.2, group=group)
    check(end, number, out)
    saved = checkpoint.load(out)
    assert saved.version == end.result["version"] > 1
    assert saved.state["adam_step"] > 0, "its learner has written it"


@pytest.mark.slow
def test_nor_where_environments_have_processes_of_their_own(tmp_path):
    """They went with the group, and the run failed before it could save."""
    pytest.importorskip("gymnasium", reason="pip install 'dshq-widget[gym]'")
    out = tmp_path / "bot.dshq"
    arguments = ["gym:CartPole-v1", "--seconds", 600, "--workers", 1, "--num-envs", 16, "--rollout-length", 32]
    end = interrupted(
        signal.SIGTERM, *arguments, "--autosave-seconds", 1, "--out", out, once=out, after=2.0, group=True
    )
    check(end, signal.SIGTERM, out)
    saved = checkpoint.load(out)
    assert saved.version == end.result["version"] > 1 and saved.state["adam_m"].any()


def test_a_folder_for_logs_keeps_the_policy_too(tmp_path):
    log_dir = tmp_path / "logs"
    arguments = ["ball", "--seconds", 600, *SOON, "--log-dir", log_dir]
    end = interrupted(signal.SIGINT, *arguments, once=log_dir / "autosave.dshq", after=0.2)
    assert end.status == 130 and not end.left
    assert checkpoint.load(log_dir / "autosave.dshq").version == end.result["version"] > 0
    assert f"is kept in {log_dir / 'autosave.dshq'}" in end.said


@pytest.mark.slow
def test_without_any_place_the_policy_goes_to_a_temporary_file(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    arguments = ["ball", "--seconds", 600, "--autosave-seconds", 1]
    end = interrupted(signal.SIGINT, *arguments, once=tmp_path / "dshq-run-*" / "autosave.dshq", after=0.3)
    assert end.status == 130 and not end.left, end.said
    kept = next(tmp_path.glob("dshq-ball-*/*.dshq"))
    assert f"stopped by Ctrl-C; version {checkpoint.load(kept).version} is kept in {kept}" in end.said
    assert [path.name for path in tmp_path.iterdir()] == [kept.parent.name], "the run's own folder is removed"


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.3, 1.0, 2.0, 3.0, 8.0, 14.0])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_at_any_moment(tmp_path, number, after):
    out = tmp_path / "bot.dshq"
    arguments = ["ball", "--seconds", 600, "--evaluate-seconds", 0.1, "--out", out]
    check(interrupted(number, *arguments, after=after), number, out)


@pytest.mark.slow
@pytest.mark.parametrize("after", [1.0, 2.5, 4.0, 8.0])
def test_it_ends_while_everything_is_compiled(tmp_path, monkeypatch, after):
    monkeypatch.setenv("DSHQ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    out = tmp_path / "out" / "bot.dshq"
    out.parent.mkdir()
    check(interrupted(signal.SIGINT, "ball", "--seconds", 600, "--out", out, after=after), signal.SIGINT, out)


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.1, 1.0])
def test_it_ends_while_the_champion_is_compared(tmp_path, after):
    """The policy is in its file by then, which the message of the interrupted comparison names."""
    out = tmp_path / "bot.dshq"
    arguments = ["ball", "--updates", 3, "--autosave-seconds", 3600, "--out", out]
    end = interrupted(signal.SIGINT, *arguments, once=out, after=after)
    assert end.status in (0, 130, -signal.SIGINT), "the last one where all was done and Python itself was ending"
    assert not end.left
    chosen = ((end.result or {}).get("saved") or {}).get("version", 3)  # where the comparison was done by then
    assert checkpoint.load(out).version in (3, chosen)


def test_a_stop_that_is_lost_in_a_callback_of_c_says_nothing(monkeypatch):
    """It is sent again; a real mistake there is still told."""
    heard: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda lost: heard.append(lost.exc_value))

    def called(error: BaseException) -> None:
        def fail() -> None:
            raise error

        ctypes.CFUNCTYPE(None)(fail)()

    mistake = ValueError("a mistake")
    with interrupts.watched():
        called(interrupts.Interrupted(signal.SIGTERM))
        called(mistake)
    assert heard == [mistake]
    called(mistake)
    assert heard == [mistake] * 2, "the hook of before is back"


FORKS = """
import os, signal, sys, time
from dshq_widget.cli import interrupts
from dshq_widget.system import processes

def ended_by_its_parent():
    child = os.fork()
    if child == 0:
        time.sleep(600)
    time.sleep(0.5)
    os.kill(child, signal.SIGTERM)
    return os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGTERM

with interrupts.watched():
    watched = ended_by_its_parent()
    time.sleep(2.0)  # a stop would come meanwhile
processes.ignore_interrupts()
print(watched, ended_by_its_parent())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_what_an_environment_forks_is_ended_by_it_and_ends_nobody_else():
    """multiprocessing forks (before Python 3.14), and `terminate` is SIGTERM: `dshq train` ended itself."""
    run = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=PATIENCE)
    assert (run.returncode, run.stdout) == (0, "True True\n"), run.stderr
