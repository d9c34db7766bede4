"""What the fault tests share: small settings, patience, and finding every process of a family, wherever it hides."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[3]
PATIENCE = 300.0  # seconds; gentle processes get next to nothing of a machine that others keep busy
SMALL = {"num_envs": 64, "rollout_length": 8, "minibatch_size": 256, "hidden_sizes": (16,), "workers": 0}
MARK = "DSHQ_TEST_FAMILY"


def until(condition: Callable[[], object], what: str = "it") -> None:
    enough = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < enough, f"{what} never happened"
        time.sleep(0.02)


class Family:
    """All processes that inherit one mark in their environment; a session of its own hides none of them."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self.environment = {**os.environ, MARK: self.mark}

    def members(self) -> set[int]:
        """Those alive now."""
        found = set()
        for process in psutil.process_iter(["status"]):
            try:
                if process.info["status"] != psutil.STATUS_ZOMBIE and process.environ().get(MARK) == self.mark:
                    found.add(process.pid)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
        return found

    def kill(self) -> None:
        """End whoever is left."""
        for pid in self.members():
            psutil.Process(pid).kill()


class Kernel:
    """`script` in a process group of its own, once it is up; its whole family dies with the `with` block."""

    script = "training_kernel"

    def __init__(self, *options: str) -> None:
        self.family = Family()
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"tests.harness.processes.{self.script}", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=ROOT,
            env=self.family.environment,
        )

    def __enter__(self) -> "Kernel":
        assert self.line() == "up\n"
        return self

    def __exit__(self, *_: object) -> None:
        self.family.kill()
        self.process.communicate()

    def line(self) -> str:
        return self.process.stdout.readline()

    def ask(self, question: str) -> None:
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
