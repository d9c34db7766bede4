"""A role that executes simple commands, to test process supervision; used by the tests.

Commands: ECHO (sent back as it came), PRINT {text}, RAISE {text}, EXIT {status}, SPIN {seconds} (a compiled loop
without the interpreter lock), SLEEP {seconds} (a main loop that does not poll), HOLD {count} (adds up COUNT numbers
and holds the interpreter lock), FILL {block, value} (writes every byte, answers FILLED).
"""

import os
import time
from typing import Any

import numpy as np

from dshq_widget.runtime.process import Channel, role
from dshq_widget.system.priority import niceness


@role
def run(channel: Channel, config: dict[str, Any], blocks: dict[str, Any]) -> None:
    """Announces itself with READY {pid, nice, config}, then executes commands until the channel closes."""
    channel.send({"type": "READY", "pid": os.getpid(), "nice": niceness(), "config": config})
    while not channel.closed:
        for command in channel.poll(timeout=1.0):
            _obey(channel, command, blocks)


def _obey(channel: Channel, command: dict[str, Any], blocks: dict[str, Any]) -> None:
    match command["type"]:
        case "ECHO":
            channel.send(command)
        case "PRINT":
            print(command["text"], flush=True)
        case "RAISE":
            raise RuntimeError(command["text"])
        case "EXIT":
            os._exit(command["status"])
        case "SPIN":
            _spin(channel, command["seconds"])
        case "SLEEP":
            time.sleep(command["seconds"])
        case "HOLD":
            sum(range(command["count"]))
        case "FILL":
            blocks[command["block"]].array(np.uint8, blocks[command["block"]].nbytes)[:] = command["value"]
            channel.send({"type": "FILLED"})
        case unknown:
            raise ValueError(f"unknown probe command {unknown}; the list is in {__name__}")


def _spin(channel: Channel, seconds: float) -> None:
    """One compiled call of about that many seconds; sends SPINNING before it begins."""
    from numba import njit  # Imported here, so that a probe that does not spin starts at once.

    @njit(nogil=True)
    def turn(n: int) -> np.uint64:
        x = np.uint64(1)
        for _ in range(n):
            x ^= x << np.uint64(13)
            x ^= x >> np.uint64(7)
            x ^= x << np.uint64(17)
        return x

    turn(1)
    begin = time.perf_counter()
    turn(10_000_000)
    rate = 10_000_000 / (time.perf_counter() - begin)
    channel.send({"type": "SPINNING"})
    turn(int(rate * seconds))
