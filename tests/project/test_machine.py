"""A figure says what else its machine did."""

import json
import sys
import time

import pytest

from benchmarks import machine, running


@pytest.mark.parametrize(("used", "busy"), [(20.0, False), (40.0, True)])
def test_a_run_beside_others_is_marked(monkeypatch, used, busy):
    """Ten seconds in which this process used 19 processor seconds and the machine `used`."""
    monkeypatch.setattr(machine, "BEGAN", machine.Moment(100.0, 1000.0, 5.0, 1.5))
    found = machine.describe(machine.Moment(110.0, 1000.0 + used, 24.0, 9.0))
    assert found["busy"] is busy and found["load_1_minute"] == 1.5, "the load before the run"
    assert found["processors_of_others"] == pytest.approx((used - 19) / 10, abs=0.01)


def test_each_raw_result_has_the_machine_and_what_others_did_in_the_whole_run(monkeypatch, tmp_path, capsys):
    """Also where a benchmark writes at its very end, and does not ask for it."""
    began = machine.now()
    busy = began._replace(clock=began.clock - 10, everybody=began.everybody - 30)
    monkeypatch.setattr(machine, "BEGAN", busy)
    monkeypatch.setattr(machine, "__file__", str(tmp_path / "machine.py"))
    monkeypatch.setattr(machine, "WRITTEN", {})
    written = json.loads(machine.write("figure", {"rate": 1}).read_text())
    assert written["rate"] == 1 and written["machine"]["busy"] and "BUSY" in capsys.readouterr().out
    assert 1.5 < written["machine"]["processors_of_others"] < 30, "thirty seconds in the ten before, and some"


def test_a_run_writes_over_its_own_results_alone(monkeypatch, tmp_path):
    """Three seeds that ran one after the other, with one name, had left the last one's file alone."""
    monkeypatch.setattr(machine, "__file__", str(tmp_path / "machine.py"))
    monkeypatch.setattr(machine, "WRITTEN", {})
    first = machine.write("figure", {"rate": 1})
    assert machine.write("figure", {"rate": 2}) == first, "a long run writes as it goes on"
    monkeypatch.setattr(machine, "WRITTEN", {})
    second = machine.write("figure", {"rate": 3})
    assert second != first and second.name.startswith("figure_2-")
    assert [json.loads(path.read_text())["rate"] for path in (first, second)] == [2, 3]


def test_ones_own_processor_time_is_not_others():
    before = machine.now()
    began = time.process_time()
    while time.process_time() < began + 0.2:
        pass
    after = machine.now()
    assert before.own > 0 and 0.15 < after.own - before.own < 60, "ticks of a hundredth of a second"
    assert after.everybody - before.everybody > 0.1


def test_what_a_program_says_last_is_its_answer():
    assert running.said([sys.executable, "-c", "print('to begin with'); print('{\"rate\": 3}')"]) == {"rate": 3}
    with pytest.raises(RuntimeError, match=r"ended with 1: .*nothing of this name"):
        running.said([sys.executable, "-c", "raise SystemExit('nothing of this name')"])
