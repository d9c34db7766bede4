"""The processes of a run on a drill: what happens where they cannot be started."""

import errno
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from dshq_widget.algorithms.ppo import processes
from dshq_widget.contract.settings import TrainConfig
from dshq_widget.env.batch import compiled
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.runtime.supervisor import Exit
from tests.harness.processes.descriptors import open_files, opened_since
from tests.harness.processes.faults import until

FLOATS = 16


class Children:
    """In the place of the supervisor: children that note their stops; the one after `fails` cannot be started."""

    def __init__(self):
        self.started, self.fails = [], 99

    def start(self, role, config, blocks, *_, **__):
        if len(self.started) == self.fails:
            raise RuntimeError("can't start new thread")
        child = SimpleNamespace(role=role, job=config, blocks=blocks, stops=[], sent=[])
        child.stop, child.send = lambda *given: child.stops.append(given), child.sent.append
        self.started.append(child)
        return child


@pytest.fixture
def children(monkeypatch):
    made = Children()
    monkeypatch.setattr(processes, "supervisor", lambda pid: made)
    return made


@pytest.fixture
def weights():
    block = SharedBlock.create(WeightSlots.nbytes_for(FLOATS))
    WeightSlots.create(block, FLOATS).publish(7, 100, np.zeros(FLOATS, np.float32))
    yield block
    block.close()


def two_workers(ends, weights):
    config = TrainConfig(num_envs=64, rollout_length=8, workers=2, hidden_sizes=(8,))
    return processes.DrillProcesses(compiled("bandit"), config, weights, {}, None, lambda _, end: ends.append(end))


def test_rollout_processes_know_the_version_that_a_run_goes_on_from(children, weights):
    run = two_workers([], weights)
    assert [child.job["version"] for child in run.workers] == [7, 7]
    run._close_blocks()


@pytest.mark.parametrize("error", [OSError(errno.EMFILE, "Too many open files"), MemoryError("no room")], ids=str)
def test_an_allocation_that_cannot_be_started_ends_the_run_with_a_sentence(children, weights, monkeypatch, error):
    ends = []
    run = two_workers(ends, weights)
    monkeypatch.setattr(SharedBlock, "create", lambda *_: (_ for _ in ()).throw(error))
    run._learner_message(None, {"type": "ANOTHER_ALLOCATION"})
    run._learner_exit(None, Exit(0, True, False, "", "", ""))
    (end,) = ends
    assert not end.expected and str(error) in end.error and end.error.startswith("training cannot continue")
    assert end.traceback, "it is not tried again"


@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_start_that_fails_leaves_no_worker_and_no_memory(children, weights, after):
    before, children.fails = open_files(), after
    with pytest.raises(RuntimeError, match="can't start"):
        two_workers([], weights)
    assert [len(child.stops) for child in children.started] == [1] * after
    children.started.clear()  # they have ended
    until(lambda: opened_since(before) == 0, "the end of what this and other threads opened")


def test_memory_that_is_there_for_a_part_alone_is_given_back(children, weights, monkeypatch):
    before = open_files()
    monkeypatch.setattr(processes, "_pool", lambda *_: (_ for _ in ()).throw(MemoryError("no room")))
    with pytest.raises(MemoryError):
        two_workers([], weights)
    assert children.started == []
    until(lambda: opened_since(before) == 0, "the end of what this and other threads opened")


@pytest.mark.parametrize("first", ["this process", "its input"])
def test_what_compiles_beside_ends_in_peace(first):
    """Both when it is done while its input is open, which was a fatal error of the interpreter, and when that ends."""
    work = "" if first == "this process" else "; import time; time.sleep(600)"
    code = f"from dshq_widget.algorithms.ppo.compiling import end_with_input; end_with_input(){work}"
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as beside:
        if first == "its input":
            beside.stdin.close()
        assert beside.wait(300) == 0 and beside.stderr.read() == b""
