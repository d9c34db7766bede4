"""The share of the processors: lighter beside others that want them, never too light to learn, and reported."""

import subprocess
import sys

import pytest

from dshq_widget.runtime import priority
from dshq_widget.runtime.priority import FIRST_LEVEL, LEVELS, Priority, next_level
from dshq_widget.system.posix import priority as posix
from dshq_widget.system.priority import ADJUSTABLE


class Told(Priority):
    """Keeps what it would set and report."""

    def __init__(self):
        self.reports, self.set = [], []
        super().__init__(lambda processors, takers: self.reports.append((processors, takers)), gentle=True)
        self._gentle = True  # also where the system does not let it

    def _apply(self, level):
        self.set.append(LEVELS[level])
        self._level = level


def test_a_starving_process_becomes_heavier_step_by_step_and_an_ample_one_lighter():
    assert next_level(2, ran=0.1, waited=0.9) == 3
    assert next_level(len(LEVELS) - 1, ran=0.1, waited=0.9) == len(LEVELS) - 1
    assert next_level(2, ran=0.95, waited=0.4) == 1, "others wait, and it has nearly all it wants"
    assert next_level(0, ran=0.95, waited=0.4) == 0
    assert next_level(2, ran=0.6, waited=0.4) == 2, "neither"
    assert next_level(2, ran=0.1, waited=0.0) == 2, "it rests: nobody takes anything from it"


def test_what_takes_the_processors_is_reported_and_that_it_is_over(monkeypatch):
    used = iter([{7: ("busy", 10.0), 8: ("quiet", 1.0)}, {7: ("busy", 11.6), 8: ("quiet", 1.0)}])
    monkeypatch.setattr(priority, "_used", lambda: next(used))
    told = Told()
    for _ in range(3):
        told.look(ran=0.2, waited=0.8)
    told.look(ran=0.9, waited=0.1)
    (processors, takers), over = told.reports
    assert processors == 0.2
    assert takers == {"busy": pytest.approx(1.6)}
    assert over == (0.9, None)
    assert told.set == [LEVELS[FIRST_LEVEL + k] for k in (1, 2, 3)]


def test_a_short_wait_is_not_reported():
    told = Told()
    for ran in (0.2, 0.9, 0.2, 0.9):
        told.look(ran=ran, waited=0.5)
    assert told.reports == []


@pytest.mark.skipif(not ADJUSTABLE, reason="the system has no groups whose weight a process may set")
def test_a_gentle_process_gets_a_group_of_its_own_and_weighs_it():
    """Where the kernel has groups; its first weight, which the kernel may refuse for a tenth of a second."""
    script = """
import os, time
from dshq_widget.runtime.priority import FIRST_LEVEL, LEVELS, Priority
from dshq_widget.system.posix.priority import AUTOGROUP_SWITCH, GROUP
said = lambda file: file.read_text().strip() if file.exists() else ""
if said(AUTOGROUP_SWITCH) != "1" and said(GROUP):
    os.setsid()  # else the group is that of whoever runs this test
for _ in range(50):
    Priority(gentle=True).start()
    if said(GROUP).endswith(f"nice {LEVELS[FIRST_LEVEL][0]}"):
        break
    time.sleep(0.2)
print(said(AUTOGROUP_SWITCH), os.getsid(0) == os.getpid(), "|", said(GROUP))
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    asked, group = said.stdout.strip().split("|")
    if not group.strip():
        pytest.skip("this kernel has no groups, or this session is in none")
    assert asked.strip().endswith("True") and group.endswith(f"nice {LEVELS[FIRST_LEVEL][0]}")


def test_a_level_changes_what_differs_and_stops_where_it_is_refused(monkeypatch):
    asked = []

    def weigh(group, nice):
        asked.append((group, nice))
        if nice == 0:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(priority.priority, "weigh", weigh)
    gentle = Priority(gentle=True)
    for level in (2, 3, 5, 6):
        gentle._apply(level)
    assert asked == [(10, None), (5, None), (0, 5), (None, 0)]
    assert (gentle._level, gentle._most) == (5, 5)


@pytest.mark.parametrize("refusing", ["own_group", "weigh"])
def test_a_system_that_refuses_ends_no_training(monkeypatch, caplog, refusing):
    def refuse(*_values):
        raise OSError(22, "Invalid argument")

    asked = []
    monkeypatch.setattr(priority.priority, "own_group", lambda: None)
    monkeypatch.setattr(priority.priority, "weigh", lambda *values: asked.append(values))
    monkeypatch.setattr(priority.priority, refusing, refuse)
    monkeypatch.setattr(priority.priority, "ADJUSTABLE", True)
    gentle = Priority(gentle=True).start()
    gentle.look(ran=0.1, waited=0.9)
    assert caplog.text.count("Invalid argument") == 1, "said once"
    assert asked == [], "it keeps the priority that it has"


@pytest.mark.skipif(not ADJUSTABLE, reason="the system has no groups whose weight a process may set")
def test_a_session_in_no_group_and_a_thread_that_ended_are_passed_over(tmp_path, monkeypatch):
    groupless = tmp_path / "autogroup"
    groupless.write_text("")
    monkeypatch.setattr(posix, "GROUP", groupless)
    monkeypatch.setattr(posix.os, "listdir", lambda _folder: [str(2**22)])  # above the most process numbers there are
    posix.weigh(10, 10)
    assert groupless.read_text() == "", "a write would be refused"
