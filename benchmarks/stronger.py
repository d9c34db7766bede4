"""Does a run that is left alone keep getting stronger? Versions of one run against one another.

`python -m benchmarks.stronger` trains the Ball Drill on one thread, keeps the version at each of `--marks` agent steps,
and lets each play the earlier ones and the baselines: `benchmarks/results/stronger-*.json`. Marks are agent steps and
not minutes, so that other work on the machine changes nothing but the waiting; at `STEPS_PER_SECOND` they are 30 s, 3,
10 and 30 minutes. Target: each has at least 0.6 of the points against the one before, the last 0.75 against the second,
and against the chaser nobody is below 0.95 of the best so far.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.policy.evaluate import evaluate, network, opponent
from dshq_widget.training.any_drill import compiled, with_rules
from dshq_widget.training.latest_policy import PolicyVersion
from dshq_widget.training.trainer import Trainer

STEPS_PER_SECOND = 1.2e6
"""Agent steps a second on one core (assumed; an AMD EPYC at 2.0 GHz plays and learns 1.5 million, measured alone)."""
MARKS = tuple(STEPS_PER_SECOND * seconds for seconds in (30, 180, 600, 1800))
MATCHES = 4096


def versions(seed: int, marks: Sequence[float], hyper: dict[str, Any]) -> Iterator[tuple[PolicyVersion, float]]:
    """The first version at or after each mark, and how often the guard has gone back since the run began. Training goes
    on meanwhile. Raises RuntimeError when it fails.
    """
    with Trainer("ball", seed=seed, workers=0, **hyper) as trainer:
        trainer.start()
        for mark in marks:
            while (policy := trainer.latest_policy()).step < mark:
                if trainer.status == "error":
                    raise RuntimeError(trainer.error)
                time.sleep(0.05)
            yield policy, trainer.metrics.get("league_reverts", 0.0)


def points(drill: CompiledDrill, one: PolicyVersion, other: Any) -> dict[str, float]:
    """Points per match, and the share of matches that end with a goal."""
    result = evaluate(drill, network(one.layers, one.activation, one.weights), other, MATCHES, seed=11)
    return {"points": result["points"], "decided": 1 - result["draws"] / MATCHES}


def compare(drill: CompiledDrill, found: Sequence[PolicyVersion]) -> dict[str, Any]:
    """Each version against every earlier one (`rows[later][earlier]`) and against the baselines."""
    rows = [
        [points(drill, later, network(earlier.layers, earlier.activation, earlier.weights)) for earlier in found[:k]]
        for k, later in enumerate(found)
    ]
    baselines = {
        name: [points(drill, version, opponent(name, drill)) for version in found] for name in ("chaser", "random")
    }
    chaser = np.array([row["points"] for row in baselines["chaser"]])
    return {
        "agent_steps": [version.step for version in found],
        "rows": rows,
        **baselines,
        "against_the_one_before": [rows[k][k - 1]["points"] for k in range(1, len(found))],
        "worst": [min((row["points"] for row in against), default=1.0) for against in rows],
        "last_against_second": rows[-1][1]["points"] if len(rows) > 2 else None,
        "chaser_share_of_best": float((chaser / np.maximum.accumulate(chaser)).min()),
    }


def main() -> None:
    """Train, compare, write."""
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--marks", nargs="+", type=float, default=MARKS, help="agent steps")
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE", help="settings instead of the defaults")
    parser.add_argument("--label", default="", help="what was changed, for the result's name")
    parser.add_argument("--core", type=int, default=0, help="the one processor that trains")
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    hyper: dict[str, Any] = dict(pair.split("=", 1) for pair in options.set)
    name = "stronger" + f"_{options.label}" * bool(options.label)
    drill = with_rules(compiled("ball"))
    runs: dict[int, dict[str, Any]] = {}
    for seed in options.seeds:
        began, found = time.monotonic(), []
        for version, reverts in versions(seed, options.marks, hyper):
            seconds = time.monotonic() - began
            found.append(version)
            run = runs[seed] = {"seed": seed, "seconds": seconds, "reverts": reverts, **compare(drill, found)}
            before, share = [round(part, 3) for part in run["against_the_one_before"]], run["chaser_share_of_best"]
            print(f"seed {seed}, {version.step / 1e6:.0f} M steps, {seconds:.0f} s, {reverts:g} reverts: {before}")
            worst = min(run["worst"])
            print(
                f"  against the one before; {worst:.3f} against any; {share:.3f} of its best against the chaser",
                flush=True,
            )
            write(name, {"hyper": hyper, "runs": list(runs.values())})  # a long run may be ended


if __name__ == "__main__":
    main()
