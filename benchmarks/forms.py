"""The portable form of `dshq_widget/system` beside the POSIX one, in one run and in turn.

    python -m benchmarks.forms [--rounds 3] [--seconds 10] [--drill ball]

Each round has a process for each form, which measures: making 16 MB of shared memory; a message to a child and its
answer, one at a time (median and 99th percentile of 500) and 2,000 at once; from a killed child to its replacement's
first message; and a training with one rollout process, in agent steps/s. A page of a training is drawn by nobody.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from queue import Queue
from typing import Any

from benchmarks.machine import write
from benchmarks.running import parser_of, said

FORMS = {"posix": "0", "portable": "1"}
BLOCK_BYTES, PINGS, BURST = 16 << 20, 500, 2_000
PATIENCE = 300.0


def measure(drill: str, seconds: float) -> dict[str, float]:
    """All of it, on the form that this process has."""
    return {**memory(), **messages(), **training(drill, seconds)}


def memory() -> dict[str, float]:
    from dshq_widget.runtime.memory import SharedBlock

    begin = time.perf_counter()
    block = SharedBlock.create(BLOCK_BYTES)
    seconds = time.perf_counter() - begin
    block.close()
    return {"block_ms": 1e3 * seconds}


def messages() -> dict[str, float]:
    from dshq_widget.runtime.supervisor import Restart, Supervisor
    from dshq_widget.system import pids

    heard: Queue[str] = Queue()
    supervisor = Supervisor()
    child = supervisor.start(
        "dshq_widget.runtime.probe:run", on_message=lambda _, message: heard.put(message["type"]), restart=Restart()
    )

    def hear(kind: str, count: int = 1) -> None:
        while count:
            count -= heard.get(timeout=PATIENCE) == kind

    try:
        hear("READY")
        taken = []
        for _ in range(PINGS):
            begin = time.perf_counter()
            child.send({"type": "ECHO"})
            hear("ECHO")
            taken.append(1e3 * (time.perf_counter() - begin))
        begin = time.perf_counter()
        for _ in range(BURST):
            child.send({"type": "ECHO"})
        hear("ECHO", BURST)
        burst = BURST / (time.perf_counter() - begin)
        begin = time.perf_counter()
        pids.kill(child.pid or 0)
        hear("READY")
        replaced = time.perf_counter() - begin
    finally:
        supervisor.close()
    cuts = statistics.quantiles(taken, n=100)
    return {"echo_ms": cuts[49], "echo_p99_ms": cuts[98], "echoes_per_second": burst, "replaced_seconds": replaced}


def training(drill: str, seconds: float) -> dict[str, float]:
    from dshq_widget.training.trainer import Trainer

    with Trainer(drill, workers=1, seed=1) as trainer:
        trainer.train_for(seconds=seconds, progress=False)
        return {"agent_steps_per_second": trainer.metrics["agent_steps"] / seconds}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--drill", default="ball")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.drill, options.seconds)))
        return
    command = [sys.executable, "-m", "benchmarks.forms", "--measure", "--drill", options.drill]
    command += ["--seconds", str(options.seconds)]
    runs: list[dict[str, Any]] = []
    for number in range(options.rounds):
        for form in list(FORMS) if number % 2 == 0 else list(FORMS)[::-1]:
            environment = {**os.environ, "DSHQ_PORTABLE": FORMS[form]}
            runs.append({"form": form, **said(command, env=environment)})
            print(json.dumps(runs[-1]), flush=True)
    print(write("forms", {"drill": options.drill, "seconds": options.seconds, "runs": runs}))
    for key in [key for key in runs[0] if key != "form"]:
        medians = {form: statistics.median(run[key] for run in runs if run["form"] == form) for form in FORMS}
        print(f"{key:24} {medians['posix']:>14,.2f} {medians['portable']:>14,.2f}")


if __name__ == "__main__":
    main()
