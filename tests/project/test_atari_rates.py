"""Where the time of training on an Atari game goes (`benchmarks/atari_rates.py`), and what is published of games."""

import time

import pytest

from benchmarks.atari_rates import PARTS, Parts, summary
from benchmarks.gym_results import CURVES, PUBLISHED, SUITES, published_at


def work(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_a_call_within_another_has_its_own_seconds():
    parts = Parts()
    inner = parts.timed("emulator", lambda: work(0.05))

    def outer() -> None:
        work(0.02)
        inner()
        inner()

    parts.timed("copies", outer)()
    with pytest.raises(ZeroDivisionError):
        parts.timed("update", lambda: 1 / 0)()
    assert 0.09 < parts.seconds["emulator"] < 0.15 and 0.015 < parts.seconds["copies"] < 0.05
    assert parts.seconds["update"] < 0.01


def test_forty_million_frames_are_ten_million_decisions():
    run = {"agent_steps": 1000, "seconds": 20.0, "processor_seconds": 10.0}
    ours = {**run, "parts": dict.fromkeys(PARTS, 0.01 / 6), "alone": {"steps_per_processor_second": 500.0}}
    rows = summary({"ours": [ours], "theirs": [run]})
    assert [row["decisions_per_processor_second"] for row in rows] == [100, 100]
    assert rows[0]["processor_hours_of_40_million_frames"] == pytest.approx(10e6 / 100 / 3600)
    assert sum(rows[0]["share_of_parts"].values()) == pytest.approx(1)
    assert sum(rows[0]["milliseconds_of_a_decision"].values()) == pytest.approx(10)


def test_published_returns_are_read_between_their_points():
    assert published_at("MinAtar/Freeway-v0", 1.25e6)["DQN"] == pytest.approx(49.1)
    assert published_at("MinAtar/Freeway-v0", 6e6) == {} == published_at("CartPole-v1", 1e5)
    for name in (*SUITES["minigrid"].names, *SUITES["minatar"].names):
        assert name in PUBLISHED or name in CURVES
    for curves in CURVES.values():
        assert all(len(places) == len(returns) and places == sorted(places) for places, returns in curves.values())
