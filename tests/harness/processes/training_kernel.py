"""A stand-in for a kernel that trains, and answers "version", "pids" and "quit" on stdin by lines."""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from dshq_widget.training.trainer import Trainer
from tests.harness.processes.faults import SMALL


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gentle", action="store_true")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--fork", action="store_true")
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    signal.signal(signal.SIGINT, lambda *_: None)  # As a kernel: an interrupt ends the cell, not the process.
    print("up", flush=True)
    how: dict[str, Any] = {**SMALL, "workers": options.workers}
    if options.keep:
        how |= {"keep_in": options.keep, "autosave_seconds": 0.05}
    trainer = Trainer("cartpole", gentle=options.gentle, **how)
    trainer.start()
    trainer.wait(updates=1, progress=False)
    sibling = os.fork() if options.fork else None
    if sibling == 0:
        time.sleep(600)
        os._exit(0)
    print(json.dumps(pids(trainer, sibling)), flush=True)
    while (line := sys.stdin.readline().strip()) != "quit":
        if line == "version":
            print(trainer.version, flush=True)
        elif line == "pids":
            print(json.dumps(pids(trainer, sibling)), flush=True)


def pids(trainer: Trainer, sibling: int | None) -> dict[str, Any]:
    """Of the processes that run now; a learner that is being replaced has none."""
    processes: Any = trainer._run.control.processes
    return {
        "learner": processes.learner.pid if processes else None,
        "workers": [worker.pid for worker in processes.workers] if processes else [],
        "sibling": sibling,
    }


if __name__ == "__main__":
    main()
