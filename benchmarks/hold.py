"""Is what was learned kept? Results against random play and the chaser over a long run, for several mixes of opponents.

`python -m benchmarks.hold --steps 1e8 --seeds 0 1` writes benchmarks/results/hold-*.json. Counted in agent steps, over
which the schedules run, too, so that a busy machine changes nothing but the waiting. Target (stated before measuring):
with a pool of earlier policies and no chaser among the opponents 80 % of decided matches against the chaser within what
45 s of training are on two cores (90 million agent steps), and until the end.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from benchmarks.machine import describe, write
from dshq_widget.training.evaluate import evaluate, network, opponent
from dshq_widget.training.trainer import Trainer

SETTINGS = {
    "self": {"opponents": "self=1", "collapse_guard": False},
    "self and random": {"opponents": "self=.75,random=.25", "collapse_guard": False},
    "self and pool": {"opponents": "self=.8,pool=.2", "collapse_guard": False},
    "self, pool and random": {"opponents": "self=.6,pool=.25,random=.15", "collapse_guard": False},
    "self, pool and random, guarded": {"opponents": "self=.6,pool=.25,random=.15"},
    "defaults": {},
    "defaults with a pool": {"opponents": "self=.6,pool=.15,chaser=.125,random=.125"},
}
MATCHES = 1024


def run(hyper: dict[str, Any], steps: float, seed: int, marks: int) -> dict[str, Any]:
    """One training run, measured `marks` times at even distances."""
    rows: list[dict[str, Any]] = []
    returns: list[str] = []
    with Trainer("ball", seed=seed, total_agent_steps=steps, **hyper) as trainer:
        trainer.start()
        while len(rows) < marks:
            time.sleep(0.1)
            policy = trainer.latest_policy()
            if trainer.status == "error":
                raise RuntimeError(trainer.error)
            if "its champion" in trainer.status_text and trainer.status_text not in returns:
                returns.append(trainer.status_text)
            if policy.step < (len(rows) + 1) * steps / marks:
                continue
            player = network(policy.layers, policy.activation, policy.weights)
            row: dict[str, Any] = {"agent_steps": policy.step, "elo": trainer.metrics.get("elo")}
            for who in ("chaser", "random"):
                row[who] = evaluate(trainer.drill, player, opponent(who, trainer.drill), MATCHES, seed=7, name=who)
            rows.append(row)
            chaser, random = (
                "{win_rate:.3f} (W {wins} D {draws} L {losses})".format(**row[who]) for who in ("chaser", "random")
            )
            print(
                f"  {policy.step / 1e6:6.1f} M  chaser {chaser}  random {random}  elo {row['elo'] or 0:.0f}", flush=True
            )
        rate = trainer.metrics["agent_steps"] / trainer.metrics["seconds"]
    return {"agent_steps_per_second": rate, "marks": rows, "returns_to_the_champion": returns}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=float, default=1e8, help="agent steps of each run")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--settings", nargs="*", choices=tuple(SETTINGS), default=list(SETTINGS), metavar="NAME")
    parser.add_argument("--marks", type=int, default=20, help="evaluations of each run")
    arguments = parser.parse_args()
    machine = describe()
    results: list[dict[str, Any]] = []
    for name in arguments.settings:
        for seed in arguments.seeds:
            print(f"{name}, seed {seed}", flush=True)
            found = run(SETTINGS[name], arguments.steps, seed, arguments.marks)
            results.append({"setting": name, "hyper": SETTINGS[name], "seed": seed, **found})
            write("hold", {"machine": machine, "matches": MATCHES, "steps": arguments.steps, "runs": results})


if __name__ == "__main__":
    main()
