"""Whatever dies, and whenever: nobody is left over, training continues, and nothing broken is ever published."""

import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import psutil
import pytest
from jupyter_client.manager import KernelManager

from dshq_widget.policy.policy import Policy
from dshq_widget.training.trainer import Trainer
from tests.harness.processes.faults import PATIENCE, ROOT, SMALL, Family, Kernel, until

MODES = [
    pytest.param(["--gentle"], id="gentle"),
    pytest.param([], id="alone", marks=pytest.mark.slow),
]
"""Beside a page the learner has a session of its own and no longer belongs to the kernel's group."""


MODEST = 50.0 * SMALL["num_envs"] * SMALL["rollout_length"]
"""Agent steps a second where training is only something that continues: fifty updates."""
FOREIGN = ("PostgreSQL.", ".org.chromium", *(["sem."] if "PYTEST_XDIST_WORKER" in os.environ else []))
"""Names in /dev/shm that a database, a browser and multiprocessing beside these tests begin with."""


def named_blocks() -> set[str]:
    names = os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []
    return {name for name in names if not name.startswith(FOREIGN)}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_a_kernel_killed_at_any_moment_leaves_nobody(kills, mode):
    dice = random.Random(kills)
    for _ in range(kills):
        with Kernel("--workers", "1", *mode) as kernel:
            time.sleep(dice.uniform(0, 4))
            os.kill(kernel.process.pid, signal.SIGKILL)
            until(lambda kernel=kernel: not kernel.family.members(), "the end of the family")


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_nor_with_a_forked_copy_that_holds_its_pipes(mode):
    with Kernel("--workers", "1", "--fork", *mode) as kernel:
        pids = json.loads(kernel.line())
        wanted = {kernel.process.pid, pids["sibling"], pids["learner"], *pids["workers"]}
        assert kernel.family.members() == wanted
        os.kill(kernel.process.pid, signal.SIGKILL)
        until(lambda: kernel.family.members() == {pids["sibling"]}, "the end of all but the copy")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("end", ["quit", pytest.param("killed", marks=pytest.mark.slow)])
def test_interrupts_lose_nobody_and_the_end_takes_everyone_along(end, mode):
    """The end is a normal one that closes nothing itself, or a SIGKILL to the whole group."""
    before = named_blocks()
    with Kernel("--workers", "1", *mode) as kernel:
        for _ in range(3):  # while its processes start
            time.sleep(0.2)
            os.killpg(kernel.process.pid, signal.SIGINT)
        pids = json.loads(kernel.line())
        versions = []
        for _ in range(20):
            os.killpg(kernel.process.pid, signal.SIGINT)
            kernel.ask("version")
            versions.append(int(kernel.line()))
            time.sleep(0.05)
        assert versions == sorted(versions) and versions[-1] > versions[0]
        assert kernel.family.members() == {kernel.process.pid, pids["learner"], *pids["workers"]}
        if end == "quit":
            kernel.ask("quit")
            assert kernel.process.wait(PATIENCE) == 0
        else:
            os.killpg(kernel.process.pid, signal.SIGKILL)
        until(lambda: not kernel.family.members(), "the end of the family")
    new = named_blocks() - before
    until(lambda: not new & named_blocks(), "the end of what is not of this test")


@pytest.mark.parametrize("restarts", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_a_notebooks_interrupt_restart_and_shutdown(restarts):
    settings = ", ".join(f"{key}={value}" for key, value in SMALL.items())
    start = f"from dshq_widget import Trainer; t = Trainer('cartpole', gentle=True, {settings}); t.start()"
    going = "before = t.version; t.wait(updates=before + 5, progress=False); t.version > before"
    before, family = named_blocks(), Family()
    manager = KernelManager()
    manager.start_kernel(cwd=ROOT, env=family.environment)
    client = manager.client()

    def run(code: str) -> str:
        shown: list[str] = []
        hook = lambda message: shown.append(message["content"].get("data", {}).get("text/plain", ""))  # noqa: E731
        reply = client.execute_interactive(code, timeout=PATIENCE, output_hook=hook)
        assert reply["content"]["status"] == "ok", reply["content"]
        return "".join(shown)

    try:
        client.start_channels()
        for _ in range(restarts):
            client.wait_for_ready(timeout=PATIENCE)
            run(start)
            assert run(going) == "True"
            members = family.members()
            for _ in range(20):
                manager.interrupt_kernel()
            assert run(going) == "True"
            assert family.members() == members and len(members) == 2
            manager.restart_kernel(now=True)
            until(lambda gone=members: not family.members() & gone, "the end of the old kernel's family")
        client.wait_for_ready(timeout=PATIENCE)
        run(start)
        assert run(going) == "True"
        manager.shutdown_kernel(now=False)
        until(lambda: not family.members(), "the end of the family")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        family.kill()
    new = named_blocks() - before
    until(lambda: not new & named_blocks(), "the end of what is not of this test")


@pytest.fixture
def two():
    """Two trainers at once."""
    trainers = [Trainer("cartpole", seed=seed, gentle=seed == 2, **SMALL) for seed in (1, 2)]
    for trainer in trainers:
        trainer.start()
    for trainer in trainers:
        assert trainer.wait(updates=3, progress=False)
    yield trainers
    for trainer in trainers:
        trainer.close()


@pytest.mark.slow
def test_two_trainers_do_not_disturb_each_other(two):
    """One learner is killed again and again and at last stopped: it comes back each time, the other one never knew."""
    one, other = two
    bystander = other._run.control.processes.learner.pid
    for _ in range(2):
        seen, newest = one.version, one.version
        victim = one._run.control.processes.learner.pid
        os.kill(victim, signal.SIGKILL)
        enough = time.monotonic() + PATIENCE
        while newest <= seen + 2:
            policy = one.latest_policy()
            assert policy.version >= newest, "versions never fall"
            assert np.isfinite(policy.weights).all() and time.monotonic() < enough
            newest = policy.version
            time.sleep(0.01)
        assert one._run.control.processes.learner.pid not in (victim, None) and one.error == ""
    updates = one.metrics.get("updates", 0)
    assert one.wait(updates=updates + 3, progress=False), "counting continued, too"
    one.close()
    seen = other.version
    until(lambda: other.version > seen + 3, "another version of the other")
    assert other._run.control.processes.learner.pid == bystander and other.error == "" and other.status == "training"


@pytest.fixture(scope="class")
def three() -> Iterator[Trainer]:
    """A trainer in training whose learner has two rollout processes."""
    with Trainer("cartpole", **{**SMALL, "workers": 2, "pace": MODEST}) as trainer:
        trainer.start()
        assert trainer.wait(updates=3, progress=False) and trainer.workers == 2
        yield trainer


class TestRolloutProcesses:
    def test_a_stopped_worker_is_flagged_and_holds_nobody_up(self, three, caplog):
        pid = three._run.control.processes.workers[0].pid
        os.kill(pid, signal.SIGSTOP)
        try:
            until(lambda: f"rollout process {pid} is not responding" in caplog.text, "the warning")
            seen = three.version
            until(lambda: three.version > seen + 3, "another version")
        finally:
            os.kill(pid, signal.SIGCONT)

    def test_a_learner_that_stands_still_holds_up_no_decision(self, three):
        """In the middle of an update, for instance: who plays asks for the newest policy, and continues with that."""
        pid = three._run.control.processes.learner.pid
        os.kill(pid, signal.SIGSTOP)
        try:
            until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED, "a learner that stands still")
            for _ in range(100):
                newest = three.latest_policy()
                Policy(newest.layers, newest.activation, newest.weights).act(np.zeros(newest.layers[0], np.float32))
            assert newest.trained and psutil.Process(pid).status() == psutil.STATUS_STOPPED
        finally:
            os.kill(pid, signal.SIGCONT)
        until(lambda: three.version > newest.version, "another version")

    def test_a_killed_worker_is_replaced(self, three, caplog):
        worker = three._run.control.processes.workers[1]
        os.kill(worker.pid, signal.SIGKILL)
        until(lambda: "a rollout process ended; it is being replaced" in caplog.text, "the warning")
        until(lambda: worker.generation == 1, "another process")
        before = three.version
        until(lambda: three.version > before + 3, "another version")

    def test_memory_counts_the_learner_and_its_workers_together(self, three):
        seen = three.metrics["updates"]
        until(lambda: three.metrics["updates"] > seen + 20 and len(three.history) > 3, "a report of all three")
        processes = three._run.control.processes
        learner, *workers = (
            psutil.Process(child.pid).memory_info().rss / 1e6 for child in (processes.learner, *processes.workers)
        )
        assert three.metrics["memory_mb"] > learner + 0.5 * sum(workers), "a resident set may still grow a little"


def test_processes_outlive_the_thread_that_called_start_and_are_modest():
    with Trainer("cartpole", **{**SMALL, "workers": 1, "pace": 1.0}) as trainer:
        thread = threading.Thread(target=trainer.start)
        thread.start()
        thread.join()
        assert trainer.wait(seconds=0, progress=False)
        until(lambda: trainer.version > 1, "the first version of the learner's own")
        children = (trainer._run.control.processes.learner, *trainer._run.control.processes.workers)
        family = [psutil.Process(child.pid) for child in children]
        assert [child.generation for child in children] == [0, 0]
        for process in family:
            assert process.nice() >= 10
            assert process.net_connections() == [], "no listening socket of ours"
        assert sum(process.memory_info().rss for process in family) < 1e9
        used = [2.0]

        def nearly_free() -> bool:
            """For two seconds; what else continues at first, or beside them on a busy machine, ends one day."""
            before = [sum(process.cpu_times()[:2]) for process in family]
            time.sleep(2)
            used[:] = [sum(process.cpu_times()[:2]) - b for process, b in zip(family, before, strict=True)]
            return max(used) < 0.2

        until(nearly_free, f"waiting that takes less than {used} of 2 s")


@pytest.mark.parametrize("cycles", [1, pytest.param(60, marks=pytest.mark.slow)])
def test_starting_and_stopping_over_and_over_leaves_nothing_behind(cycles):
    me = psutil.Process()

    def cycle() -> None:
        with Trainer("cartpole", **SMALL) as trainer:
            trainer.start()
            assert trainer.wait(updates=1, progress=False)
            processes: Any = trainer._run.control.processes
            child = processes.learner
            trainer.stop()
            assert trainer.join(PATIENCE) and child.join(PATIENCE)

    cycle()
    descriptors, threads, memory, children = me.num_fds(), me.num_threads(), me.memory_info().rss, me.children()
    for _ in range(cycles):
        cycle()
    until(lambda: me.num_fds() <= descriptors, "the end of the descriptors")
    until(lambda: me.num_threads() <= threads, "the end of the threads")
    until(lambda: set(me.children()) <= set(children), "the end of the children")
    assert me.memory_info().rss - memory < 20e6
