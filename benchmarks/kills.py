"""kill -9 at random moments: of a kernel, its learner, its rollout process, `dshq train`, `dshq play`, the league.

`python -m benchmarks.kills` makes 200 kills, saves included, and writes benchmarks/results/kills-*.json: the seconds
until all of it was gone, or replaced and learning again. It fails where a process or a name in /dev/shm is left, where
a file is not whole, where a version falls, or where a result of the league is lost (tests/harness/processes/kills.py).
The bars are of this many seconds: 2 for what is killed with its family, 3 for a rollout process and 10 for a learner to
be replaced. A kill above its bar is counted, and with `--hold` it fails the run, for a machine that does nothing else.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks.machine import write
from benchmarks.running import parser_of
from tests.harness.processes.kills import VICTIMS, blocks

SHARES = {"training": 0.4, "command": 0.2, "play": 0.2, "league": 0.2}
BARS = {"kernel": 2.0, "command line": 2.0, "play server": 2.0, "league": 2.0, "rollout": 3.0, "learner": 10.0}
"""Seconds."""


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hold", action="store_true", help="fail where a kill is above its bar")
    options = parser.parse_args()
    dice, seconds, before = random.Random(options.seed), defaultdict[str, list[float]](list), blocks()
    began = time.monotonic()
    for name, share in SHARES.items():
        with tempfile.TemporaryDirectory() as folder:
            for victim, took in VICTIMS[name](dice, Path(folder), max(1, round(share * options.kills))):
                seconds[victim].append(took)
                print(f"{victim:13} {took:6.2f} s", flush=True)
    left = sorted(blocks() - before)
    assert not left, left
    found = {
        victim: {
            "kills": len(row),
            "median_seconds": round(float(np.median(row)), 3),
            "slowest_seconds": round(max(row), 3),
            "bar_seconds": BARS[victim],
            "above_the_bar": sum(took > BARS[victim] for took in row),
        }
        for victim, row in seconds.items()
    }
    result = {"minutes": round((time.monotonic() - began) / 60, 1), "kills": found}
    print(write("kills", result))
    if options.hold and any(row["above_the_bar"] for row in found.values()):
        raise SystemExit("some kills are above their bar")


if __name__ == "__main__":
    main()
