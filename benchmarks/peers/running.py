"""Runs a script in another interpreter and watches the memory of its processes."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks.peers.progress import STARTED
from benchmarks.running import hold_to_one_core

ROOT = Path(__file__).parents[2]
LOOKS = 0.1
"""Seconds between two readings of the memory."""


class ScriptError(RuntimeError):
    """A script ended with an error; the message has its last words."""


def resident_megabytes(process: psutil.Process) -> float:
    """Of a process and its descendants, added up: memory that two of them share counts twice."""
    total = 0
    for member in [process, *process.children(recursive=True)]:
        try:
            total += member.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total / 1e6


def run(python: str, *arguments: str, one_core: bool = False) -> dict[str, Any]:
    """What `python ARGUMENTS` prints last, as JSON, with `megabytes`, the most that its processes held, and
    `wall_seconds`. It runs in an empty folder, with this checkout among the places for modules; `one_core` binds it to
    one processor. Raises ScriptError.
    """
    paths = os.pathsep.join((str(ROOT), str(ROOT / "kernels")))

    with (
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryFile("w+") as out,
        tempfile.TemporaryFile("w+") as err,
    ):
        began, most = time.perf_counter(), 0.0
        try:
            process = subprocess.Popen(
                [python, *arguments],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": paths, STARTED: str(time.time())},
                stdout=out,
                stderr=err,
                preexec_fn=hold_to_one_core if one_core else None,
            )
        except OSError as error:
            raise ScriptError(f"{python} cannot be started: {error.strerror}") from None
        with process:
            watched = psutil.Process(process.pid)
            while process.poll() is None:
                try:
                    most = max(most, resident_megabytes(watched))
                except psutil.NoSuchProcess:
                    break
                time.sleep(LOOKS)
        wall = time.perf_counter() - began
        out.seek(0)
        err.seek(0)
        said, problem = out.read().splitlines(), err.read()
    if process.returncode or not said:
        raise ScriptError(f"{' '.join(arguments)} ended with {process.returncode}: {problem.strip()[-2000:]}")
    found = json.loads(said[-1])
    if not isinstance(found, dict):
        found = {"value": found}
    return {**found, "megabytes": most, "wall_seconds": wall}
