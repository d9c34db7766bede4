"""Processes of multiprocessing's server end with the one that started it, whatever they do."""

import subprocess
import sys

import psutil
import pytest

from dshq_widget.system.form import PORTABLE
from tests.harness.processes.faults import until

STARTS = """
import multiprocessing, sys, time

context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["dshq_widget.runtime.server_end"])
sleeps, forks = (context.Process(target=exec, args=(code,)) for code in sys.argv[1:])
sleeps.start()
forks.start()
forks.join()
print(sleeps.pid, forks.exitcode, flush=True)
time.sleep(600)
"""
FORKS = """
import os, time
pid = os.fork()
if pid == 0:
    time.sleep(0.2)  # one that ended as soon as it was forked would have another status
    os._exit(5)
os._exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""


@pytest.mark.skipif(PORTABLE or sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_one_that_asks_nobody_ends_too_and_what_it_forks_is_its_own():
    """Sixteen environments that were still importing lived for minutes after their run was killed."""
    command = [sys.executable, "-c", STARTS, "import time\ntime.sleep(600)", FORKS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        sleeps, forked = map(int, started.stdout.readline().split())
        assert forked == 5 and psutil.pid_exists(sleeps)
        started.kill()
    until(lambda: not psutil.pid_exists(sleeps) or psutil.Process(sleeps).status() == psutil.STATUS_ZOMBIE)
