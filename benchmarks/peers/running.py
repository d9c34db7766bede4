"""Runs a script in another interpreter, watches the memory of its processes, and compares figures of runs in turn."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from benchmarks.peers.progress import STARTED

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

    def bind() -> None:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

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
                preexec_fn=bind if one_core else None,
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


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Least, median and largest of some rounds, and the rounds."""
    return {"min": min(values), "median": statistics.median(values), "max": max(values), "rounds": list(values)}


def measure(python: str, code: str) -> float:
    """The number that a program prints last."""
    return float(run(python, "-c", code)["value"])


def compare(name: str, ours: Callable[[], float], theirs: Callable[[], float], rounds: int) -> dict[str, Any]:
    """Ours and theirs in turn: `spread` of each, and `ratio_of_medians`, ours over theirs."""
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    row: dict[str, Any] = {"what": name}
    row |= {who: spread(values) for who, values in zip(("ours", "theirs"), zip(*pairs, strict=True), strict=True)}
    ratio = row["ours"]["median"] / row["theirs"]["median"]
    print(
        f"{name:62} ours {row['ours']['median']:>14,.0f}  theirs {row['theirs']['median']:>12,.0f}  x{ratio:,.0f}",
        flush=True,
    )
    return row | {"ratio_of_medians": ratio}
