"""What a second processor adds to training: `python -m benchmarks.threads` writes benchmarks/results/threads-*.json.

`dshq train ball` for `--seconds`, held to 1, 2, 4, ... processors (`taskset`), in turn, `--rounds` times. Figures are
agent steps/s of the whole run, with its league, judge and guard. `efficiency` is the median over that of one processor
times their number. `side_by_side` is the sum of as many runs at once, one on each processor: what the memory and the
clock of the machine leave to anybody. Target (stated before measuring): .85 at 30 s.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.machine import describe, write


def start(processors: Sequence[int], seconds: float) -> subprocess.Popen[str]:
    """A training run on these processors."""
    held = ["taskset", "-c", ",".join(map(str, processors))]
    train = [sys.executable, "-m", "dshq_widget.cli", "train", "ball", "--seconds", str(seconds), "--json"]
    return subprocess.Popen([*held, *train], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def rate(run: subprocess.Popen[str]) -> float:
    """Its agent steps/s. Raises RuntimeError if it fails."""
    said, _ = run.communicate()
    if run.returncode:
        raise RuntimeError(f"a training run ended with {run.returncode}")
    last = json.loads(said.splitlines()[-1])
    return float(last["agent_steps"] / last["seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    machine, processors = describe(), sorted(os.sched_getaffinity(0))
    counts = [2**k for k in range(len(processors).bit_length())]
    together: dict[int, list[float]] = {count: [] for count in counts}
    apart: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(options.rounds):
        for count in counts:
            together[count].append(rate(start(processors[:count], options.seconds)))
            runs = [start([one], options.seconds) for one in processors[:count]]
            apart[count].append(sum(rate(run) for run in runs))
    one = statistics.median(together[1] + apart[1])
    rows = []
    for count in counts:
        median = statistics.median(together[count])
        row = {"processors": count, "together": together[count], "side_by_side": apart[count]}
        rows.append(row | {"efficiency": median / (one * count)})
        beside = statistics.median(apart[count])
        print(f"{count:3} processors {median:12,.0f}  side by side {beside:12,.0f}  {median / (one * count):.2f}")
    write("threads", {"machine": machine, "seconds": options.seconds, "rows": rows})


if __name__ == "__main__":
    main()
