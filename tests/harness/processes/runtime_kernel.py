"""A stand-in for a kernel: `runtime_kernel.py CHILDREN [--fork] [--spin]` answers "ping" and "quit"."""

import argparse
import json
import os
import signal
import sys
import time
from queue import Queue

from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.supervisor import Supervisor


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("children", type=int)
    parser.add_argument("--fork", action="store_true")
    parser.add_argument("--spin", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, lambda *_: None)  # As a kernel: an interrupt ends the cell, not the process.
    print("up", flush=True)

    heard: Queue = Queue()
    supervisor, block = Supervisor(), SharedBlock.create(1 << 20)
    children = [
        supervisor.start(
            "dshq_widget.runtime.probe:run",
            blocks={"b": block},
            on_message=lambda _, message: heard.put(message["type"]),
        )
        for _ in range(options.children)
    ]
    _await(heard, "READY", options.children)
    if options.spin:
        for child in children:
            child.send({"type": "SPIN", "seconds": 600})
        _await(heard, "SPINNING", options.children)
    sibling = os.fork() if options.fork else None
    if sibling == 0:
        time.sleep(600)
        os._exit(0)
    print(json.dumps({"children": [child.pid for child in children], "sibling": sibling}), flush=True)
    while (line := sys.stdin.readline().strip()) != "quit":
        if line == "ping":
            for child in children:
                child.send({"type": "ECHO"})
            _await(heard, "ECHO", options.children)
            print(options.children, flush=True)


def _await(heard: Queue, kind: str, count: int) -> None:
    while count:
        count -= heard.get(timeout=300) == kind


if __name__ == "__main__":
    main()
