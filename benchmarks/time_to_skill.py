"""How long until the Ball Drill is played well, everything included: from the start of a new Python process, with warm
caches, to the first policy that wins 80 % of its decided matches against the chaser.

`python -m benchmarks.time_to_skill` writes benchmarks/results/time_to_skill-*.json; `--settings defaults` takes one
setting alone. The processor time of looking is part of the time. A policy passes once it wins that share of `MATCHES`
matches, and the same again of as many others; the share of all matches won has to be more than a fifth, or a draw-ish
policy could pass by one lucky match. Targets (stated before measuring): under 12 s, median of five seeds, none over
20 s; with no chaser among the opponents under 45 s; on half a processor under 60 s (a control group's quota, which
wants root and version 1 of cgroups).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.machine import write
from benchmarks.running import parser_of, said

NO_CHASER = {"opponents": "self=.6,pool=.25,random=.15", "collapse_guard": False}
"""The guard looks at matches with the chaser: without it the chaser is never met before it is the judge."""
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {"hyper": {}, "target_seconds": 12},
    "no chaser in training": {"hyper": NO_CHASER, "target_seconds": 45},
    "half a processor": {"hyper": {}, "target_seconds": 60, "quota": 0.5},
}
SKILL, MATCHES = 0.8, 512
LIMIT = 180.0
"""Seconds after which a run is given up."""
PERIOD_US = 100_000


def until_skilled(hyper: dict[str, Any], seed: int, pause: float) -> dict[str, Any]:
    """In this process: train and look at every new policy, `pause` seconds apart, until one passes."""
    from dshq_widget.policy.evaluate import evaluate, network, opponent
    from dshq_widget.training.any_drill import with_rules
    from dshq_widget.training.trainer import Trainer

    looks = []
    with Trainer("ball", seed=seed, **hyper) as trainer:
        trainer.start()
        drill = with_rules(trainer.drill)
        chaser = opponent("chaser", drill)
        seen, end = 0, time.monotonic() + LIMIT
        while time.monotonic() < end:
            policy = trainer.latest_policy()
            if trainer.status == "error":
                raise RuntimeError(trainer.error)
            if policy.version == seen:
                time.sleep(0.02)
                continue
            seen, found = policy.version, time.time()
            player = network(policy.layers, policy.activation, policy.weights)
            first = evaluate(drill, player, chaser, MATCHES, seed=7, name="chaser")
            look: dict[str, Any] = {"clock": found, "agent_steps": policy.step, "chaser": first}
            if passes(first):
                look["again"] = evaluate(drill, player, chaser, MATCHES, seed=8, name="chaser")
            looks.append(look)
            if "again" in look and passes(look["again"]):
                return {"skilled": True, "looks": looks, "tuning": trainer.tuning}
            time.sleep(pause)
        return {"skilled": False, "looks": looks, "tuning": trainer.tuning}


def passes(matches: dict[str, Any]) -> bool:
    return bool(matches["counts"] and matches["win_rate"] >= SKILL)


@contextmanager
def control_group(quota: float) -> Iterator[Path | None]:
    """A control group of version 1 with that many processors; None where no quota is asked for. Raises OSError."""
    if not quota:
        yield None
        return
    group = Path("/sys/fs/cgroup/cpu") / f"dshq-bench-{uuid.uuid4().hex[:8]}"
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(int(quota * PERIOD_US)))
        yield group
    finally:
        group.rmdir()


def run(setting: str, seed: int, pause: float) -> dict[str, Any]:
    """One run in a process of its own; `seconds` from its start to the policy that passed."""
    quota = SETTINGS[setting].get("quota", 0.0)
    command = [sys.executable, "-m", "benchmarks.time_to_skill", "--one", setting, "--seeds", str(seed)]
    with control_group(quota) as group:

        def join() -> None:
            if group is not None:
                (group / "cgroup.procs").write_text(str(os.getpid()))

        began = time.time()
        found: dict[str, Any] = said([*command, "--pause", str(pause)], preexec_fn=join)
    for look in found["looks"]:
        look["seconds"] = look.pop("clock") - began
    last = found["looks"][-1]
    return {"setting": setting, "seed": seed, "seconds": last["seconds"], "agent_steps": last["agent_steps"], **found}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2, 3, 4])
    parser.add_argument("--settings", nargs="*", choices=tuple(SETTINGS), default=list(SETTINGS), metavar="NAME")
    parser.add_argument("--pause", type=float, default=0.5, help="seconds between two looks")
    parser.add_argument("--one", choices=tuple(SETTINGS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(until_skilled(SETTINGS[arguments.one]["hyper"], arguments.seeds[0], arguments.pause)))
        return
    rows, summary = [], []
    run("defaults", 99, arguments.pause)  # compiles what is not cached yet
    for setting in arguments.settings:
        found = []
        for seed in arguments.seeds:
            row = run(setting, seed, arguments.pause)
            found.append(row)
            print(
                f"{setting:22} seed {seed}: {row['seconds']:5.1f} s{'' if row['skilled'] else ' NOT REACHED'}, "
                f"{row['agent_steps'] / 1e6:5.1f} M agent steps, first policy after {row['looks'][0]['seconds']:.1f} s",
                flush=True,
            )
        seconds = [row["seconds"] for row in found]
        summary.append(
            {
                "setting": setting,
                "target_seconds": SETTINGS[setting]["target_seconds"],
                "median": statistics.median(seconds),
                "max": max(seconds),
                "reached": sum(row["skilled"] for row in found),
            }
        )
        print(json.dumps(summary[-1]), flush=True)
        rows += found
    write("time_to_skill", {"matches": MATCHES, "skill": SKILL, "summary": summary, "rows": rows})


if __name__ == "__main__":
    main()
