"""A figure says what else its machine did."""

import json
import time
from types import SimpleNamespace

import pytest

from benchmarks import machine


@pytest.mark.parametrize(("used", "busy"), [(20.0, False), (40.0, True)])
def test_a_run_beside_others_is_marked(monkeypatch, tmp_path, capsys, used, busy):
    """Ten seconds in which this process used 19 processor seconds and the machine `used`."""
    clock = iter([100.0, 110.0])
    spent = iter([(1000.0, 5.0), (1000.0 + used, 24.0)])
    monkeypatch.setattr(machine, "time", SimpleNamespace(monotonic=lambda: next(clock)))  # not everybody's clock
    monkeypatch.setattr(machine, "spent", lambda: next(spent))
    monkeypatch.setattr(machine, "__file__", str(tmp_path / "machine.py"))
    written = json.loads(machine.write("figure", {"machine": machine.describe(), "rate": 1}).read_text())
    assert written["machine"]["busy"] is busy
    assert written["machine"]["processors_of_others"] == pytest.approx((used - 19) / 10, abs=0.01)
    assert ("BUSY" in capsys.readouterr().out) is busy


def test_ones_own_processor_time_is_not_others():
    everybody, own = machine.spent()
    began = time.process_time()
    while time.process_time() < began + 0.2:
        pass
    later, mine = machine.spent()
    assert own > 0 and 0.15 < mine - own < 60, "ticks of a hundredth of a second"
    assert later - everybody > 0.1
