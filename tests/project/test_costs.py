"""What a run of the tests says of its costs, and the budgets that `make test-all` holds."""

import json
import subprocess
import sys
import time

from tests.harness.apart import TESTS
from tests.harness.bars import recorded
from tests.harness.costs.plugin import BARS, Compiles, bars
from tests.harness.costs.table import BUDGETS, LOOP_SECONDS, Cost, lines, over_budget
from tests.harness.quick import QUICK

ROOM = "policy"
SPEND = """
import json, subprocess, sys, time
from tests.harness.costs import clock

def spends(act):
    before = clock.spent()
    act()
    return clock.spent() - before

work = "from tests.harness.costs import clock; import time; clock.loop_seconds(time.thread_time)"
child = lambda: subprocess.run([sys.executable, "-c", work], check=True)
print(json.dumps([spends(lambda: exec(work)), spends(child), spends(lambda: time.sleep(1))]))
"""


def cost(seconds: float, slow: bool = False) -> Cost:
    return Cost(f"tests/{ROOM}/test_x.py::test_y", seconds, 1.0, slow)


def test_a_room_over_its_budget_is_named():
    most = BUDGETS[ROOM]
    assert list(over_budget([cost(most / 2), cost(most / 2)], LOOP_SECONDS)) == []
    (said,) = over_budget([cost(most), cost(most / 10)], LOOP_SECONDS)
    assert f"tests/{ROOM} took {1.1 * most:.0f} s" in said and f"budget is {most:.0f} s" in said
    assert list(over_budget([cost(most), cost(most / 10)], 2 * LOOP_SECONDS)) == [], "a slower processor has longer"
    assert list(over_budget([cost(most), cost(most, slow=True)], LOOP_SECONDS)) == [], "what is slow has none to hold"


def test_every_room_has_a_budget():
    rooms = {path.name for path in TESTS.iterdir() if path.is_dir() and list(path.glob("test_*.py"))}
    assert set(BUDGETS) == rooms


def test_the_table_adds_up():
    said = "\n".join(lines([cost(2.0), cost(3.5)], 4.0, {"dshq_kernels.play.loops": 3, "dshq_rules_0a1b": 9}))
    assert f"{ROOM:<16} {2:>6} {3.5:>8.1f} {2.0:>10.1f} {5.5:>9.1f}" in said
    assert f"{'all':<16} {2:>6} {7.5:>8.1f} {2.0:>10.1f} {9.5:>9.1f}" in said
    assert "compiled 12 functions, those of 1 programs of rules" in said


def test_processor_time_grows_with_work_and_not_with_waiting():
    """In a process of its own, whose descendants nobody else ends."""
    done = subprocess.run([sys.executable, "-c", SPEND], cwd=TESTS.parent, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    own, below, waiting = json.loads(done.stdout)
    assert own > 0 and below > 0 and 0 <= waiting < 0.5


def test_what_processes_note_is_read_once(tmp_path):
    compiles = Compiles(tmp_path)
    (tmp_path / "1.txt").write_text("0.5 a.f\n")
    assert compiles.seconds() == 0.5 and compiles.seconds() == 0.0
    with open(tmp_path / "1.txt", "a") as file:
        file.write("0.25 a.f\n")
    assert compiles.seconds() == 0.25 and compiles.functions == {"a.f": 2}


def test_a_wait_over_its_bar_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv(BARS, str(tmp_path / "bars.txt"))
    for name, bar in (("quick", 60.0), ("late", 0.0)):
        with recorded(name, bar):
            time.sleep(0.01)
    first, late = bars(tmp_path / "bars.txt")
    assert first == "2 waits were timed, 1 took longer than their bar" and late.startswith("late: 0.")


def test_the_quick_files_exist():
    assert [file for file in QUICK if not (TESTS / file).is_file()] == []
