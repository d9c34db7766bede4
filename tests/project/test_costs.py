"""The budgets that `make test-all` holds."""

import json

from tests.harness.apart import TESTS
from tests.harness.costs.table import BUDGETS, LOOP_SECONDS, Cost, over_budget
from tests.harness.quick import QUICK
from tests.harness.scripts import printed

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


def test_processor_time_grows_with_work_and_not_with_waiting():
    """In a process of its own, whose descendants nobody else ends."""
    own, below, waiting = json.loads(printed(SPEND))
    assert own > 0 and below > 0 and 0 <= waiting < 0.5


def test_the_quick_files_exist():
    assert [file for file in QUICK if not (TESTS / file).is_file()] == []
