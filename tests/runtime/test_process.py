"""Life and death of children: nothing outlives the kernel, nothing short of its death ends them by accident."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest
from jupyter_client.manager import KernelManager

from dshq_widget.system.form import PORTABLE
from tests.harness.processes import faults
from tests.harness.processes.faults import PATIENCE, Family, until

MAPPED = "dshq-block-" if PORTABLE else "memfd:dshq"
SEMAPHORES = "" if "PYTEST_XDIST_WORKER" in os.environ else r"sem\.|"  # the tests beside these have some, too
NAMED = re.compile(rf"{SEMAPHORES}psm_|mp-|torch_|dshq")  # names that leaked shared memory has had
START = """
from dshq_widget.runtime.supervisor import Supervisor
from queue import Queue
supervisor, heard = Supervisor(), Queue()
hear = lambda child, message: message["type"] == "HEALTH" or heard.put(message["type"])
children = [supervisor.start("dshq_widget.runtime.probe:run", on_message=hear) for _ in range(2)]
assert [heard.get(timeout=300), heard.get(timeout=300)] == ["READY", "READY"]
"""
ECHO = """
for child in children:
    child.send({"type": "ECHO"})
for child in children:
    while heard.get(timeout=300) != "ECHO":
        pass
"""


class Kernel(faults.Kernel):
    """A stand-in for a notebook's kernel, about to start children."""

    script = "runtime_kernel"

    def ready(self):
        """Waits for the children; returns {"children": [pid...], "sibling": pid or None}."""
        return json.loads(self.line())

    def kill(self):
        os.kill(self.process.pid, signal.SIGKILL)


def shared_names():
    return {name for name in os.listdir("/dev/shm") if NAMED.match(name)} if os.path.isdir("/dev/shm") else set()


def assert_no_new_names(before):
    """A name that leaked stays for good; those of other people's processes on this machine go one day."""
    new = shared_names() - before
    until(lambda: not new & shared_names())


@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.slow)])
def test_a_killed_kernel_leaves_nobody_at_any_moment(kills):
    """Before its children begin, while they do, and, the last time, while they are there."""
    dice, most = random.Random(kills), 0
    for left in reversed(range(kills)):
        with Kernel("2") as kernel:
            if left:
                time.sleep(dice.uniform(0, 1))
            else:
                kernel.ready()
            most = max(most, len(kernel.family.members()))
            kernel.kill()
            until(lambda family=kernel.family: not family.members())
    assert most == 3, "itself and both"


def test_nor_with_a_forked_copy_and_children_inside_compiled_code():
    with Kernel("2", "--spin", "--fork") as kernel:
        family = kernel.ready()
        assert kernel.family.members() == {kernel.process.pid, family["sibling"], *family["children"]}
        kernel.kill()
        until(lambda: kernel.family.members() == {family["sibling"]})


@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_a_killed_group_leaves_no_name_in_shared_memory(kills):
    before = shared_names()
    for _ in range(kills):
        with Kernel("2") as kernel:
            for pid in [*kernel.ready()["children"], kernel.process.pid]:
                with open(f"/proc/{pid}/maps") as maps:
                    mapped = maps.read()
                assert "/dev/shm" not in mapped
                assert MAPPED in mapped
            os.killpg(kernel.process.pid, signal.SIGKILL)
            until(lambda family=kernel.family: not family.members())
    assert_no_new_names(before)


def test_interrupts_lose_no_child():
    with Kernel("3") as kernel:
        for _ in range(5):  # Some arrive while the children start.
            time.sleep(0.05)
            os.killpg(kernel.process.pid, signal.SIGINT)
        family = kernel.ready()
        for _ in range(20):
            os.killpg(kernel.process.pid, signal.SIGINT)
            kernel.ask("ping")
            assert kernel.line() == "3\n"
        assert kernel.family.members() == {kernel.process.pid, *family["children"]}


def test_a_normal_end_takes_everyone_along():
    with Kernel("3") as kernel:
        kernel.ready()
        kernel.ask("quit")
        assert kernel.process.wait(PATIENCE) == 0
        assert not kernel.family.members()


def test_a_forked_copy_that_ends_normally_harms_no_child():
    script = START + "import os, sys\nif os.fork() == 0: sys.exit()\nos.wait()\n" + ECHO
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", script], timeout=300).returncode == 0


@pytest.mark.parametrize("parent", ["right", "wrong"])
def test_the_end_of_stdin_or_a_lost_parent_ends_a_child(parent):
    """What remains where the system knows no parent-death signal."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    pid = os.getpid() if parent == "right" else ended.pid
    child = subprocess.Popen(
        [sys.executable, "-m", "dshq_widget.runtime.process", "dshq_widget.runtime.probe:run", str(pid)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        if parent == "right":
            child.stdin.write(json.dumps({"blocks": {}, "config": {}}).encode() + b"\n")
            child.stdin.flush()
            while b"READY" not in child.stdout.readline():
                pass
            child.stdin.close()
        assert child.wait(PATIENCE) == 3


@pytest.mark.parametrize("restarts", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_a_notebooks_restart_leaves_nobody_and_no_name(restarts):
    before = shared_names()
    manager, family = KernelManager(), Family()
    manager.start_kernel(env=family.environment)
    client = manager.client()
    try:
        client.start_channels()
        for _ in range(restarts):
            client.wait_for_ready(timeout=300)
            assert client.execute_interactive(START, timeout=300)["content"]["status"] == "ok"
            before_restart = family.members()
            assert len(before_restart) == 3
            manager.interrupt_kernel()
            assert client.execute_interactive(ECHO, timeout=300)["content"]["status"] == "ok"
            assert family.members() == before_restart
            manager.restart_kernel(now=True)
            until(lambda old=before_restart: not family.members() & old)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert_no_new_names(before)
