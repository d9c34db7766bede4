"""What a second processor adds to training: `python -m benchmarks.threads` writes benchmarks/results/threads-*.json.

`dshq train ball` for `--seconds`, held to 1, 2, 4, ... processors (`taskset`), in turn, `--rounds` times. Figures are
agent steps/s of the whole run, with its league, judge and guard. `efficiency` is the median over that of one processor
times their number. `side_by_side` is the sum of as many runs at once, one on each processor: what the memory and the
clock of the machine leave to anybody. Target (stated before measuring): 0.85 at 30 s.
"""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from benchmarks.machine import write
from benchmarks.running import parser_of, said


def rate(processors: Sequence[int], seconds: float) -> float:
    """Agent steps/s of a training run on these processors. Raises RuntimeError if it fails."""
    held = ["taskset", "-c", ",".join(map(str, processors))]
    train = [sys.executable, "-m", "dshq_widget.cli", "train", "ball", "--seconds", str(seconds), "--json"]
    last = said([*held, *train])
    return float(last["agent_steps"] / last["seconds"])


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    processors = sorted(os.sched_getaffinity(0))
    counts = [2**k for k in range(len(processors).bit_length())]
    together: dict[int, list[float]] = {count: [] for count in counts}
    apart: dict[int, list[float]] = {count: [] for count in counts}
    for _ in range(options.rounds):
        for count in counts:
            together[count].append(rate(processors[:count], options.seconds))
            with ThreadPoolExecutor(count) as pool:
                apart[count].append(sum(pool.map(lambda one: rate([one], options.seconds), processors[:count])))
    one = statistics.median(together[1] + apart[1])
    rows = []
    for count in counts:
        median = statistics.median(together[count])
        row = {"processors": count, "together": together[count], "side_by_side": apart[count]}
        rows.append(row | {"efficiency": median / (one * count)})
        beside = statistics.median(apart[count])
        print(f"{count:3} processors {median:12,.0f}  side by side {beside:12,.0f}  {median / (one * count):.2f}")
    write("threads", {"seconds": options.seconds, "rows": rows})


if __name__ == "__main__":
    main()
