"""kill -9 of kernel, learner, rollout process, command line, play server, league at random moments, also of saves."""

import random
from pathlib import Path

import pytest

from benchmarks import kills as benchmark
from tests.harness.processes.faults import until
from tests.harness.processes.kills import VICTIMS, blocks

FEW, MANY = (4, 2, 1, 1), (80, 40, 40, 40)


@pytest.mark.parametrize(
    ("victim", "kills"),
    [
        *zip(VICTIMS, FEW, strict=True),
        *(pytest.param(*row, marks=pytest.mark.slow) for row in zip(VICTIMS, MANY, strict=True)),
    ],
)
def test_nothing_is_left_and_nothing_is_lost(victim: str, kills: int, tmp_path: Path):
    if victim == "league":
        pytest.importorskip("sqlalchemy")
    before = blocks()
    killed = list(VICTIMS[victim](random.Random(kills), tmp_path, kills))
    assert len(killed) == kills
    new = blocks() - before  # a name that leaked stays for good; those of the tests beside this one go
    until(lambda: not new & blocks(), f"the end of {new}")


@pytest.mark.parametrize("seconds", [1.9, 2.1])
def test_a_kill_above_its_bar_fails_a_run_that_holds_it(seconds: float, monkeypatch):
    """The tests above wait for minutes, since others may keep the machine busy."""

    def killed(*_):
        yield "kernel", seconds

    monkeypatch.setattr(benchmark, "VICTIMS", dict.fromkeys(benchmark.SHARES, killed))
    monkeypatch.setattr(benchmark, "write", lambda name, result: name)
    monkeypatch.setattr("sys.argv", ["kills", "--hold"])
    if seconds > benchmark.BARS["kernel"]:
        with pytest.raises(SystemExit, match="above their bar"):
            benchmark.main()
    else:
        benchmark.main()
