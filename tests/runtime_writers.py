"""Writers that never stop, run as scripts by the runtime tests, which kill them in mid-write.

Usage: `runtime_writers.py weights|records FD NBYTES`, with an inherited shared block that the test laid out.
"""

import sys
import time

import numpy as np

from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.ring import Lane
from dshq_widget.runtime.slots import WeightSlots

RECORD = {"number": ("int64", ()), "data": ("int64", (20_000,)), "flags": ("uint8", (7,))}


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


if __name__ == "__main__":
    {"weights": weights, "records": records}[sys.argv[1]](SharedBlock.attach(int(sys.argv[2]), int(sys.argv[3])))
