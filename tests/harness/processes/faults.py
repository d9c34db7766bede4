"""What the fault tests share: small settings, patience, and finding every process of a family, wherever it hides."""

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import psutil

ROOT = Path(__file__).parents[3]
PATIENCE = 300.0  # seconds; gentle processes get next to nothing of a machine that others keep busy
SMALL = {"num_envs": 64, "rollout_length": 8, "minibatch_size": 256, "hidden_sizes": (16,), "workers": 0}
MARK = "DSHQ_TEST_FAMILY"


def until(condition: Callable[[], Any], what: str = "it") -> Any:
    """What a call gives, once it is something."""
    enough = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < enough, f"{what} never happened"
        time.sleep(0.01)
    return found


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


class Started:
    """`python ARGUMENTS` in a session of its own; all that it starts dies with the `with` block."""

    def __init__(self, *arguments: str, stderr: int | None = None) -> None:
        self.family = Family()
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": stderr}
        how: dict[str, Any] = {"text": True, "start_new_session": True, "cwd": ROOT, "env": self.family.environment}
        self.process = subprocess.Popen([sys.executable, *arguments], **pipes, **how)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.family.kill()
        self.process.communicate()


class Kernel(Started):
    """`script` as such a process, once it is up."""

    script = "training_kernel"

    def __init__(self, *options: str) -> None:
        super().__init__("-m", f"tests.harness.processes.{self.script}", *options)

    def __enter__(self) -> Self:
        assert self.line() == "up\n"
        return super().__enter__()

    def line(self) -> str:
        return self.process.stdout.readline()

    def ask(self, question: str) -> None:
        self.process.stdin.write(question + "\n")
        self.process.stdin.flush()
