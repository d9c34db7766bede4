"""What a trainer calls its user for: new metrics, new evaluations, and whether it is enough."""

import sys
import threading

import pytest

from dshq_widget.training.callbacks import NewMetrics, counts_update, is_evaluated
from dshq_widget.training.trainer import Trainer
from tests.harness.processes.faults import PATIENCE, SMALL, until

pytestmark = pytest.mark.usefixtures("learners_in_threads")


def test_a_run_tells_of_updates_and_evaluations_and_stops_when_it_is_enough():
    updates, evaluations, threads, ended = [], [], set(), []
    with Trainer("bandit", **SMALL) as t:
        t.on_update(lambda metrics: (updates.append(metrics["updates"]), threads.add(threading.current_thread())))
        t.on_evaluate(lambda metrics: evaluations.append(metrics["evaluated_return"]))
        end = t.on_update(ended.append)
        end()
        end()
        asked = []

        def enough(metrics):
            asked.append(threading.current_thread())
            return metrics["updates"] >= 20 and "evaluated_return" in metrics

        assert t.train_for(seconds=PATIENCE, stop_when=enough, progress=False) is True
        assert t.status == "stopped" and t.metrics["updates"] >= 20 and t.metrics["seconds"] < PATIENCE / 2
        until(lambda: updates and updates[-1] == t.metrics["updates"])
        until(lambda: evaluations and evaluations[-1] == t.metrics["evaluated_return"])
    assert updates == sorted(set(updates)) and ended == []
    assert set(asked) == {threading.current_thread()}
    assert threading.current_thread() not in threads and {each.name for each in threads} == {"dshq-listeners"}


@pytest.mark.slow
def test_an_exception_is_a_warning_and_the_run_goes_on(caplog):
    warnings, after = [], []

    def broken(metrics):
        raise KeyError("win_rate_emma")

    with Trainer("bandit", **SMALL) as t:
        t.on_warning(warnings.append)
        t.on_update(broken)
        t.on_update(after.append)
        assert t.train_for(seconds=2, stop_when=lambda metrics: metrics["nothing"] > 0, progress=False) is True
        assert t.status == "stopped" and t.metrics["seconds"] > 1.5
        until(lambda: after and after[-1] == t.metrics)
    assert any("broken failed: KeyError: 'win_rate_emma'; training is not affected" in text for text in warnings)
    assert sum(text.startswith("stop_when failed: KeyError: 'nothing'") for text in warnings) == 1
    assert "Traceback" in caplog.text


def test_a_callback_may_stop_the_run():
    with Trainer("bandit", **SMALL) as t:
        t.on_update(lambda metrics: t.stop())
        assert t.train_for(seconds=PATIENCE, progress=False) is False


def test_what_is_not_a_function_is_refused_before_anything_starts():
    with Trainer("bandit") as t:
        for wrong in (
            lambda: t.on_update(3),
            lambda: t.on_evaluate("x"),
            lambda: t.train_for(updates=1, stop_when=0.9),
        ):
            with pytest.raises(TypeError, match="must be a function of the metrics, got"):
                wrong()
        assert t.status == "idle"


def test_only_what_is_watched_and_new_is_told():
    now, heard, said = {"updates": 3}, [], []

    def told(metrics):
        heard.append(dict(metrics))
        if len(heard) > 2:
            raise ValueError("too\noften")

    for watched, name in ((counts_update, "updates"), (is_evaluated, "elo")):
        heard.clear()
        said.clear()
        watch = NewMetrics(told, "told", watched, lambda: dict(now), said.append)
        watch()
        assert heard == [], "what was there before is not new"
        now["memory_mb"] = 1
        watch()
        assert heard == []
        for value in (5, 5, 6, 7, 8):
            now[name] = value
            watch()
        assert [row[name] for row in heard] == [5, 6, 7, 8], "and an error does not end the calls"
        assert said == ["told failed: ValueError: too often; training is not affected"], "once, on one line"
        now.clear()
        watch()
        assert len(heard) == 4, "nothing is told of what is forgotten"


def test_a_callback_that_calls_exit_ends_no_other_calls():
    heard, warned = [], []
    with Trainer("bandit") as t:
        t.on_warning(lambda text: (warned.append(text), sys.exit(3)))
        t.on_change(lambda: sys.exit(3))
        t.on_update(lambda metrics: sys.exit(3))
        t.on_change(lambda: heard.append(t.config.gamma))
        for gamma in (0.5, 0.25):
            t._run.status.metrics = {"updates": int(4 * gamma)}
            t.set_hyper(gamma=gamma)
            until(lambda wanted=gamma: wanted in heard)
        until(lambda: warned)
    assert "SystemExit: 3; training is not affected" in warned[0]
