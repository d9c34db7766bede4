"""Writers that never stop: `runtime_writers.py weights|records|crowd WHERE NBYTES` into a shared block."""

import os
import subprocess
import sys
import time

import numpy as np

from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.ring import Lane
from dshq_widget.runtime.slots import WeightSlots
from dshq_widget.system import processes

CROWD = {"data": ("uint64", (4096, 4))}
RECORD = {"number": ("int64", ()), "data": ("int64", (20_000,)), "flags": ("uint8", (7,))}


def writers(what: str, block: SharedBlock) -> subprocess.Popen[bytes]:
    """This script as a process that writes into `block`."""
    command = [__file__, what, str(block.where), str(block.nbytes)]
    return processes.start(command, os.environ, [block.where])


def weights(block: SharedBlock) -> None:
    """Version v holds v everywhere, and step 7 v."""
    slots = WeightSlots.attach(block)
    while True:
        version = slots.latest + 1
        slots.publish(version, 7 * version, np.full(slots.n_floats, version, np.float32))


def records(block: SharedBlock) -> None:
    """Record n holds n everywhere and is made by policy 3 n. Waits for room rather than drop."""
    lane = Lane.attach(block, RECORD)
    while True:
        while not lane.has_room:
            time.sleep(0.0005)
        chunk = lane.reserve()
        chunk.arrays["number"][...] = chunk.sequence
        for part in np.array_split(chunk.arrays["data"], 10):
            part[:] = chunk.sequence
        chunk.arrays["flags"][:] = chunk.sequence % 256
        lane.commit(3 * chunk.sequence)


def pattern(sequence: int) -> np.ndarray:
    """The records of one chunk, uint64 `[4096, 4]`: each word of each record another one, whatever chunk it is of."""
    shape = CROWD["data"][1]
    numbers = np.arange(shape[0] * shape[1], dtype=np.uint64) + np.uint64(sequence * shape[0] * shape[1])
    numbers *= np.uint64(0x9E3779B97F4A7C15)  # an odd constant: no two numbers give the same word
    return (numbers ^ (numbers >> np.uint64(31))).reshape(shape)


def crowd(block: SharedBlock) -> None:
    """Chunks of `pattern(sequence)`, made by policy 3 sequence, as fast as it goes; what finds no room is dropped."""
    lane = Lane.attach(block, CROWD)
    while True:
        chunk = lane.reserve()
        if chunk is None:
            time.sleep(0.0002)
            continue
        chunk.arrays["data"][:] = pattern(chunk.sequence)
        lane.commit(3 * chunk.sequence)


if __name__ == "__main__":
    where = sys.argv[2]
    {"weights": weights, "records": records, "crowd": crowd}[sys.argv[1]](
        SharedBlock.attach(int(where) if where.isdigit() else where, int(sys.argv[3]))
    )
