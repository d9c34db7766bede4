"""The dashboard of `dshq train`: every category, readable at two widths."""

import io

import pytest

from dshq_widget.cli.main import main

Console = pytest.importorskip("rich.console").Console

METRICS = {
    "entropy": 0.73421,
    "loss_value": 1.25e-5,
    "agent_steps": 1234567,
    "agent_steps_per_second": 31234.6,
    "return_mean": -0.5,
    "reward_goal": 0.25,
    "evaluated_return": 12.0,
    "memory_mb": 433.47,
    "no_such_metric": 1.0,
}


def drawn(width, metrics=METRICS):
    from dshq_widget.cli.dashboard import Dashboard

    console = Console(file=io.StringIO(), width=width, force_terminal=False, color_system=None)
    dashboard = Dashboard("Maze by spo", lambda: metrics, console)
    console.print(dashboard.picture(0.4, "training: 4 of 10 s"))
    return console.file.getvalue().splitlines()


def test_all_categories_with_units_and_readable_numbers():
    text = "\n".join(lines := drawn(120))
    for word in ("Maze by spo", "TRAINER", "ACTOR", "EVALUATOR", "MISC", "40%", "training: 4 of 10 s", "1,234,567"):
        assert word in text
    assert "0.7342" in text and "1.25e-05" in text and "31,235" in text and "reward_goal" in text
    assert "no_such_metric" not in text and {len(line) for line in lines} == {120}
    row = next(line for line in lines if "TRAINER" in line)
    assert "ACTOR" in row, "two columns"
    narrow = drawn(70)
    assert not any("TRAINER" in line and "ACTOR" in line for line in narrow)
    assert {len(line) for line in narrow} == {70}


def test_a_run_shows_it(capsys):
    assert (
        main(["train", "bandit", "--algorithm", "spo", "--updates", "2", "--dashboard", "--spo-num-particles", "4"])
        == 0
    )
    told = capsys.readouterr()
    assert "Bandit by spo" in told.err and "TRAINER" in told.err and "simulated_steps" in told.err
    assert "agent steps in" in told.out
