"""A stand-in for a notebook's kernel that trains, run as a script by the fault tests, which then kill or end it.

Usage: `training_kernel.py [--gentle] [--workers N] [--fork]`. Prints "up", and once it trains one JSON line {"learner":
pid, "workers": [pid...], "sibling": pid or null}. `--fork` makes a forked copy of this process that holds all its
pipes. Then each line on stdin is answered by one on stdout: "version" by the newest version, "quit" by a normal end
that closes nothing itself.
"""

import argparse
import json
import os
import signal
import sys
import time

from dshq_widget.training.trainer import Trainer
from tests.harness.processes.faults import SMALL


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gentle", action="store_true")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--fork", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, lambda *_: None)  # As a kernel: an interrupt ends the cell, not the process.
    print("up", flush=True)
    trainer = Trainer("cartpole", gentle=options.gentle, **{**SMALL, "workers": options.workers})
    trainer.start()
    trainer.wait(updates=1, progress=False)
    sibling = os.fork() if options.fork else None
    if sibling == 0:
        time.sleep(600)
        os._exit(0)
    processes = trainer._control.processes
    pids = {
        "learner": processes.learner.pid,
        "workers": [worker.pid for worker in processes.workers],
        "sibling": sibling,
    }
    print(json.dumps(pids), flush=True)
    while (line := sys.stdin.readline().strip()) != "quit":
        if line == "version":
            print(trainer.version, flush=True)


if __name__ == "__main__":
    main()
