"""Training that stops by itself: at exactly that update, at the first that reaches the agent steps, after seconds."""

import json
import math
import threading
import time

import numpy as np
import pytest

from dshq_widget.contract.settings import FIELDS
from dshq_widget.policy import checkpoint
from dshq_widget.training.goals import Budget
from dshq_widget.training.history import Progress
from dshq_widget.training.trainer import Trainer
from tests.harness.command import answer
from tests.harness.processes.faults import PATIENCE, SMALL, until

pytestmark = pytest.mark.usefixtures("learners_in_threads")


@pytest.mark.parametrize("workers", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_exactly_these_updates_and_then_exactly_these_more(tmp_path, workers):
    with Trainer("bandit", **{**SMALL, "workers": workers}) as t:
        assert t.train_for(updates=7, progress=False) is True
        assert t.status == "stopped" and t.metrics["updates"] == 7 and "finished" in t.status_text
        assert t.train_for(updates=5, progress=False) is True
        assert t.metrics["updates"] == 12
        path = t.save(tmp_path / "twelve.dshq")
    assert checkpoint.load(path).metrics["updates"] == 12
    with Trainer(path, workers=workers) as t:
        assert t.train_for(updates=3, progress=False) and t.metrics["updates"] == 15


def test_the_first_update_that_reaches_the_agent_steps():
    with Trainer("bandit", **SMALL) as t:
        each = 64 * 8
        assert t.train_for(agent_steps=each * 4 + 1, progress=False)
        assert t.metrics["agent_steps"] == each * 5 and t.metrics["updates"] == 5
        assert t.train_for(agent_steps=each, progress=False) and t.metrics["updates"] == 6


@pytest.mark.slow
def test_schedules_end_with_the_budget_unless_their_length_was_chosen():
    with Trainer("ball", **SMALL) as t:
        assert t.train_for(agent_steps=5000, progress=False)
        done = t.metrics["agent_steps"]
        assert 5000 <= done < 7000 and t.config.total_agent_steps == 5000
        assert t.train_for(agent_steps=3000, progress=False) and t.config.total_agent_steps == done + 3000
        done = t.metrics["agent_steps"]
        assert t.train_for(seconds=0.4, progress=False) and t.config.total_agent_steps > done  # by the rate so far
        t.set_hyper(total_agent_steps=6000)
        assert t.train_for(agent_steps=1000, progress=False) and t.config.total_agent_steps == 6000


def test_seconds_are_counted_by_the_learner():
    with Trainer("bandit", **SMALL) as t:
        assert t.train_for(seconds=1.5, progress=False)
        assert t.status == "stopped" and 1.4 < t.metrics["seconds"] < PATIENCE


@pytest.mark.slow
def test_a_pace_does_not_stretch_the_seconds():
    with Trainer("bandit", pace=64 * 8, **SMALL) as t:  # an update a second
        t.start()
        assert t.wait(seconds=0, progress=False)
        t.stop()
        assert t.join(PATIENCE)
        before = t.metrics.get("updates", 0)
        assert t.train_for(seconds=3, progress=False)
        assert t.metrics["updates"] - before <= 5 and t.metrics["seconds"] < 2


def test_training_that_runs_has_no_second_budget():
    with Trainer("bandit", **SMALL) as t:
        t.start()
        with pytest.raises(RuntimeError, match="is running: call stop"):
            t.train_for(updates=3)


def test_waiting_is_true_when_training_ended_at_the_target():
    """The run ends by itself while somebody else waits for its last update."""
    with Trainer("bandit", **SMALL) as t:
        training = threading.Thread(target=lambda: t.train_for(updates=20, progress=False))
        training.start()
        while t.status not in ("starting", "training"):
            time.sleep(0.005)
        assert t.wait(updates=20, progress=False) is True
        training.join(PATIENCE)
        assert t.metrics["updates"] == 20


@pytest.mark.parametrize(
    "given",
    [
        *({}, {"updates": 0}, {"updates": 2.5}, {"seconds": 0}, {"updates": 1, "seconds": 1}, {"agent_steps": True}),
        *({key: wrong} for key in ("updates", "agent_steps", "seconds") for wrong in (math.inf, math.nan, -1, "5")),
        *({key: wrong} for key in ("updates", "seconds") for wrong in (10**400, [3], 1j, np.bool_(True))),
    ],
)
def test_a_wrong_budget_is_a_sentence(given):
    with pytest.raises(ValueError, match="training needs one of updates="):
        Budget(**{"updates": None, "agent_steps": None, "seconds": None} | given)


@pytest.mark.parametrize("wrong", [math.inf, math.nan, -1, "5", None, True])
@pytest.mark.parametrize("goal", ["seconds", "updates", "return_mean"])
def test_a_wrong_goal_is_a_sentence(goal, wrong):
    if (goal, wrong) == ("return_mean", -1):
        return
    with Trainer("bandit") as t, pytest.raises(ValueError, match=r"wait\(\) needs one of seconds="):
        t.wait(**{goal: wrong})


def test_budgets_take_numpys_numbers():
    for given in ((np.int64(3), None, None), (None, np.float32(3), None), (None, None, np.float64(3))):
        (limit,) = Budget(*given).limits({}).values()
        assert limit == 3 and json.dumps(limit)


def test_a_schedule_is_no_longer_than_its_setting():
    most = FIELDS["total_agent_steps"]["max"]
    assert Budget(None, 10**15, None).schedule({}) == most and Budget(None, 5, None).schedule({}) == 1000
    budget = Budget(None, None, 1e9)
    budget.limits({})
    assert budget.schedule({"agent_steps": 1e9, "seconds": 2.0}) == most
    with Trainer("bandit") as t:
        t.set_hyper(total_agent_steps=most)


class Torn(Progress):
    """A bar that cannot be drawn any more."""

    def __init__(self, error):
        super().__init__(enabled=False)
        self.error = error

    def show(self, share, text):
        if text.startswith("training"):
            raise self.error


@pytest.mark.parametrize("error", [OSError("the notebook is gone"), SystemExit(3), KeyboardInterrupt()])
def test_training_stops_whatever_ends_the_call(error):
    with Trainer("bandit", **SMALL) as t:
        with pytest.raises(type(error)):
            t.train_for(updates=10_000_000, progress=Torn(error))
        assert t.join(PATIENCE) and t.status == "stopped"


def test_seconds_in_which_a_dead_learner_waited_are_spent_too():
    budget = Budget(None, None, 10.0)
    assert budget.limits({"seconds": 5.0}) == {"seconds": 10.0}
    budget.spend(4.0)  # one of them played and learned
    assert budget.share({"seconds": 6.0}) == 0.4 and budget.limits({"seconds": 6.0}) == {"seconds": 6.0}
    budget.spend(1.0)
    assert budget.limits({"seconds": 6.5}) == {"seconds": 5.0}
    assert budget.used({"agent_steps": 700}, "agent_steps") == 700


@pytest.mark.slow
def test_what_a_learner_waited_for_its_pace_is_told():
    with Trainer("bandit", pace=64 * 8, **SMALL) as t:  # an update a second
        t.start()
        assert t.wait(updates=2, progress=False)
        budget = t._run.control._budget = Budget(None, None, 100.0)
        assert t.wait(updates=4, progress=False)
        assert budget.used({}, "seconds") > 1.0 > t.metrics["seconds"]


def test_a_listener_may_call_anything():
    """It stops, saves, waits and joins, from inside a call about a change."""
    done = threading.Event()
    with Trainer("bandit", **SMALL) as t:

        def listener():
            if t.status == "training" and t.version > 2 and not done.is_set():
                t.policy_file()
                t.stop()
                assert t.join(PATIENCE)
                done.set()

        t.on_change(listener)
        t.on_change(lambda: t.stop() if done.is_set() else None)
        t.start()
        assert done.wait(PATIENCE)
        assert t.status == "stopped"


def test_a_listener_that_always_stops_ends():
    """It used to call itself until the stack was full."""
    called = []
    with Trainer("bandit") as t:
        t.on_change(lambda: (called.append(1), t.stop()))
        t.set_hyper(gamma=0.5)
        until(lambda: called)
        time.sleep(0.2)
        assert 1 <= len(called) <= 3


@pytest.mark.parametrize(("flag", "amount"), [("--updates", 20), ("--agent-steps", 64 * 8 * 20)])
def test_the_command_line_stops_exactly_there(flag, amount):
    sizes = ("--workers", 0, "--num-envs", 64, "--rollout-length", 8, "--hidden-sizes", 16)
    said = answer("train", "bandit", flag, amount, *sizes)
    assert said["updates"] == said["metrics"]["updates"] == 20
    assert said["agent_steps"] == 64 * 8 * 20
