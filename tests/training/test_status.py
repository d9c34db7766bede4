"""What the status line says of a learner that has too little, or that does not answer."""

from types import SimpleNamespace

import pytest

from dshq_widget.algorithms.algorithm import OneProcess
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.training.status import TrainingStatus, shortage


def training() -> TrainingStatus:
    status = TrainingStatus("ball")
    status.receive({"type": "PHASE", "phase": "training", "text": "training on 1 thread"})
    return status


def test_a_learner_that_has_too_little_is_said_with_a_number_and_with_who_takes_the_rest():
    status = training()
    status.receive({"type": "PROCESSORS", "processors": 0.32, "takers": {"python3": 1.2, "chrome": 0.4}})
    assert status.text == "the learner has 32% of a processor, because python3 takes 120% and chrome 40%"
    status.receive({"type": "METRICS", "values": {"agent_steps": 1}})
    assert "32% of a processor" in status.text, "it stays while it is so"
    status.receive({"type": "PROCESSORS", "processors": 0.9, "takers": None})
    assert status.text == "training on 1 thread"


def test_what_cannot_be_seen_is_not_named():
    assert shortage(0.1, {}) == "the learner has 10% of a processor, because other work takes the rest"


def test_a_long_name_is_cut_so_that_the_line_keeps_its_height():
    said = shortage(0.2, {"npm exec tsc --noEmit": 0.2, "node": 0.1})
    assert said.endswith("because npm exec tsc… takes 20% and node 10%")


def test_what_is_said_of_a_file_drives_no_terminal(caplog):
    """Names in a file are in the sentences about it: they could wipe the line out, and name the window."""
    status, heard = training(), []
    status.listen(heard.append)
    status.receive({"type": "WARNING", "text": "values of: \x1b[2J\x1b]0;x\x07\rnothing"})
    assert heard == [status.text] == ["values of:  [2J ]0;x  nothing"] and "\x1b" not in caplog.text
    status.fail("KeyError: \x1b[2Jx\nin two lines")
    assert status.error == status.text == "KeyError:  [2Jx\nin two lines"


def test_only_a_silent_learner_is_said_to_be_silent_and_only_while_it_is():
    status = training()
    status.receive({"type": "HEALTH", "health": "slow"})
    assert status.text == "training on 1 thread"
    status.receive({"type": "HEALTH", "health": "silent"})
    assert status.text.startswith("the learner is not responding: press Stop")
    status.receive({"type": "HEALTH", "health": "running"})
    assert status.text == "training on 1 thread"


def test_a_loop_that_stands_still_is_said_where_the_run_says_how_long_is_too_long():
    """A learner's update may be long; one that steps an environment of somebody's has a limit."""
    status = training()
    status.receive({"type": "HEALTH", "health": "stuck"})
    assert status.text == "training on 1 thread"
    status.receive({"type": "HEALTH", "health": "stuck", "seconds": 60.0})
    assert status.text.startswith("the learner has not got on for 60 s: if its environment is not just slow")
    status.receive({"type": "HEALTH", "health": "running"})
    assert status.text == "training on 1 thread"


@pytest.mark.parametrize(("how", "said"), [({"stuck_seconds": 60.0}, {"seconds": 60.0}), ({}, {})], ids=str)
def test_a_run_says_how_long_its_loop_may_stand_still(monkeypatch, how, said):
    nobody = SimpleNamespace(start=lambda *_, **__: None)
    monkeypatch.setattr("dshq_widget.runtime.supervisor.supervisor", lambda pid: nobody)
    heard = []
    run = OneProcess("a:b", {}, TrainConfig(), None, {}, lambda _, message: heard.append(message), None, **how)
    stuck = {"type": "HEALTH", "health": "stuck"}
    run._receive(None, stuck)
    assert heard == [], "it only starts"
    run._receive(None, {"type": "PHASE", "phase": "training"})
    run._receive(None, stuck)
    assert heard[1:] == [stuck | said]
    for message in ({"type": "STOPPED"}, {"type": "HEALTH", "health": "silent"}):
        run._receive(None, message)
    assert heard[2:] == [{"type": "STOPPED"}], "one that leaves, a cluster for example, may be silent"


def test_a_run_that_ends_well_ends_with_no_such_word():
    status = training()
    status.set("stopping", "finishing this update and saving")
    status.receive({"type": "HEALTH", "health": "silent"})
    assert status.text == "finishing this update and saving"
