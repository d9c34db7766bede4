"""How soon `dshq train` solves the drills of one side, each command a process of its own: CartPole, Bandit, Approach.

`python -m benchmarks.cartpole` writes benchmarks/results/cartpole-*.json. `wall_seconds` is the whole command, from its
start to its exit, with warm caches (one run before the first is not counted); `train_seconds` is what it spent playing
and learning. The policy it leaves is judged apart, by 100 episodes of other seeds, actions sampled. Targets (stated
before measuring): CartPole 475 in under 1.5 s of training and under 6 s from the command line, 5 of 5 seeds; Bandit 99
of 100; Approach 98 % reached.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.learning import dshq
from benchmarks.machine import describe, write

DRILLS = ("cartpole", "bandit", "approach")
EPISODES = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drills", nargs="*", default=DRILLS)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2, 3, 4])
    arguments = parser.parse_args()
    machine, rows = describe(), []
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "policy.dshq")
        for drill in arguments.drills:
            dshq("train", drill, "--out", out)
            dshq("evaluate", out)
            found = []
            for seed in arguments.seeds:
                begin = time.perf_counter()
                trained = dshq("train", drill, "--seed", str(seed), "--out", out)
                wall = time.perf_counter() - begin
                judged = dshq("evaluate", out, "--matches", str(EPISODES), "--seed", str(1000 + seed))
                row = {
                    "drill": drill,
                    "seed": seed,
                    "wall_seconds": wall,
                    "train_seconds": trained["seconds"],
                    "agent_steps": trained["agent_steps"],
                    "evaluated_return": trained["metrics"]["evaluated_return"],
                    "judged_return": judged["return_mean"],
                    "solved": judged["solved"],
                }
                found.append(row)
                print(
                    f"{drill:10} seed {seed}: {wall:5.2f} s from the command line, {row['train_seconds']:5.2f} s of "
                    f"training, {row['agent_steps']:>9,} agent steps, judged {row['judged_return']:.2f}",
                    flush=True,
                )
            rows += found
            wall, train = (statistics.median(row[key] for row in found) for key in ("wall_seconds", "train_seconds"))
            solved = sum(row["solved"] for row in found)
            print(f"{drill:10} solved {solved} of {len(found)}; medians {wall:.2f} s, {train:.2f} s of training")
    write("cartpole", {"machine": machine, "episodes": EPISODES, "rows": rows})


if __name__ == "__main__":
    main()
