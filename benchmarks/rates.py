"""Training end to end, as `dshq train` does it: agent steps per second and the memory of all its processes together.

`python -m benchmarks.rates` writes benchmarks/results/rates-*.json. Each row is a command of its own, start, imports
and warm caches included in `wall_seconds` but not in the rate, which the learner reports of itself over the whole run.
Memory is the proportional set size (shared pages divided among those who share them), summed over the command and all
its descendants, its highest reading of ten a second. Targets (stated before measuring): with AVX-512 4 million agent
steps/s at the settings that learn fastest (one epoch), 1.2 million with four epochs; below 600 MB.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import Any

import psutil

from benchmarks.machine import describe, write
from dshq_widget.cli.bench import copy, gemm

SETTINGS = {
    "ball, defaults (one epoch)": ["ball"],
    "ball, four epochs": ["ball", "--epochs", "4"],
}


def proportional_megabytes(process: psutil.Process) -> float:
    """Of the process and its descendants; those that just ended count nothing."""
    total = 0
    for member in [process, *process.children(recursive=True)]:
        try:
            total += member.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied, FileNotFoundError):
            continue
    return total / 1e6


def train(arguments: list[str], seconds: float) -> dict[str, Any]:
    """One command, watched."""
    command = [sys.executable, "-m", "dshq_widget.cli", "train", *arguments, "--seconds", str(seconds), "--json"]
    began, most = time.perf_counter(), 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        watched = psutil.Process(run.pid)
        while run.poll() is None:
            try:
                most = max(most, proportional_megabytes(watched))
            except psutil.NoSuchProcess:
                break
            time.sleep(0.1)
        assert run.stdout is not None
        said = run.stdout.read()
    if run.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {run.returncode}")
    trained = json.loads(said.splitlines()[-1])
    return {
        "agent_steps_per_second": trained["agent_steps"] / trained["seconds"],
        "agent_steps": trained["agent_steps"],
        "seconds": trained["seconds"],
        "wall_seconds": time.perf_counter() - began,
        "megabytes": most,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    machine, rows = describe(), []
    ceilings = {"gemm_gflops_per_core": gemm(1.0), "copy_gb_per_second": copy(1.0)}
    for _ in range(arguments.rounds):
        for setting, flags in SETTINGS.items():
            rows.append({"setting": setting, **train(flags, arguments.seconds)})
    summary = {}
    for setting in SETTINGS:
        found = [row for row in rows if row["setting"] == setting]
        steps = [row["agent_steps_per_second"] for row in found]
        summary[setting] = {
            "agent_steps_per_second": {"min": min(steps), "median": statistics.median(steps), "max": max(steps)},
            "most_megabytes": max(row["megabytes"] for row in found),
        }
        print(f"{setting:28} {json.dumps(summary[setting])}", flush=True)
    write("rates", {"machine": machine, "ceilings": ceilings, "summary": summary, "rows": rows})


if __name__ == "__main__":
    main()
