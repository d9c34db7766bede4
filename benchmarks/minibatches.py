"""What minibatches are made of: time and agent steps to a fixed skill with other orders, priorities and units.

`python -m benchmarks.minibatches` writes benchmarks/results/minibatches-*.json. `random` are the defaults: minibatches
of units drawn at random, a unit being one step of 16 games. `sequential` keeps the order of play
(`minibatch_order`). `priorities` draws units with large advantages more often (`priority_alpha` 0.8, `priority_beta`
0.2, PufferLib 3.0's values). `segments` draws whole rollouts of 16 games, their steps in order, which is as near to
PufferLib's `[segments, horizon]` as tiles of 16 games come: there a segment is one game's. It is no setting, so this
file has the learner. `segments, priorities` has both.

A run plays and learns in turn in this process, on `--threads` threads, without league and guards, and so without
earlier versions as opponents. Its seconds are those of play and update; the policy is judged after every second update,
off the clock: on the Ball Drill by 512 matches against the chaser, of which 80 % of the decided ones must be won, and
again; on Approach by 500 episodes, of which 98 % must end with a touch. Variants run in turn, seed by seed. A variant
is kept if it takes fewer seconds on both drills by more than the seeds differ (stated before measuring).
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_kernels.play.rollout import Samples
from dshq_widget.algorithms.ppo.learners import learner
from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.contract.settings import POOL, of_drill, without_opponents
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import compiled
from dshq_widget.learning.games import OwnGames
from dshq_widget.policy.evaluate import evaluate, evaluate_alone, network, opponent
from dshq_widget.policy.network import PolicySpec

SKILLS = {"ball": 0.8, "approach": 0.98}
MATCHES, EPISODES = 512, 500
PRIORITIES = {"priority_alpha": 0.8, "priority_beta": 0.2}
VARIANTS: dict[str, tuple[bool, dict[str, Any]]] = {
    "random": (False, {}),
    "sequential": (False, {"minibatch_order": "sequential"}),
    "priorities": (False, PRIORITIES),
    "segments": (True, {}),
    "segments, priorities": (True, PRIORITIES),
}
"""Whether segments are drawn, and settings."""


class SegmentPPO(FusedPPO):
    """Draws segments: all steps of the 16 games of a tile, one side's, as they were played."""

    length = 1
    """Decisions of a rollout."""

    def _drawn(self, samples: Samples, units: np.ndarray, hyper: Hyper) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return learner.plan_minibatches(self._draws, units, samples.advantage, hyper, self.length)


def skill(drill: CompiledDrill, spec: PolicySpec, weights: np.ndarray, seed: int) -> float:
    """What `SKILLS` asks for."""
    player = network(spec.layers, spec.activation, weights)
    if drill.spec.sides == 1:
        return float(evaluate_alone(drill, player, EPISODES, seed=seed)["return_mean"])
    against = opponent("chaser", drill)
    found = [evaluate(drill, player, against, MATCHES, seed=seed + k, name="chaser") for k in (0, 1)]
    return min(one["win_rate"] if one["counts"] else 0.0 for one in found)


def until_skilled(name: str, variant: str, seed: int, threads: int, every: int, limit: float) -> dict[str, Any]:
    """One run, ended by the skill or after `limit` seconds of play and update."""
    in_segments, settings = VARIANTS[variant]
    drill = compiled(name)
    config = without_opponents(of_drill(drill.spec).replace({"seed": seed, **settings}), [POOL])
    spec = PolicySpec.for_config(drill.spec, config)
    ppo = (SegmentPPO if in_segments else FusedPPO)(spec, seed=seed, threads=threads)
    if isinstance(ppo, SegmentPPO):
        ppo.length = config.rollout_length
    games = OwnGames(drill, config, threads)
    spent, agent_steps, updates, found = 0.0, 0, 0, 0.0
    while spent < limit and found < SKILLS[name]:
        begin = time.perf_counter()
        played = games.next(ppo, config, updates)
        ppo.update(played.samples, played.units, Hyper.at(config, agent_steps))
        spent += time.perf_counter() - begin
        agent_steps, updates = agent_steps + int(played.agent_steps), updates + 1
        if updates % every == 0:
            found = skill(drill, spec, ppo.blob(), 7)
    row = {"drill": name, "variant": variant, "seed": seed, "skilled": found >= SKILLS[name], "skill": found}
    return row | {"seconds": spent, "agent_steps": agent_steps, "updates": updates}


def summary(rows: list[dict[str, Any]], drills: list[str], variants: list[str]) -> list[dict[str, Any]]:
    """Medians over the seeds and their ratios to the first variant's. A run that was given up counts as it stood."""
    found: list[dict[str, Any]] = []
    for name in drills:
        first: dict[str, Any] = {}
        for variant in variants:
            runs = [row for row in rows if (row["drill"], row["variant"]) == (name, variant)]
            row: dict[str, Any] = {"drill": name, "variant": variant, "skilled": sum(run["skilled"] for run in runs)}
            for key in ("seconds", "agent_steps"):
                row[key] = [run[key] for run in runs]
                row[f"median_{key}"] = statistics.median(row[key])
            first = first or row
            row["ratio_of_medians"] = {
                key: row[f"median_{key}"] / first[f"median_{key}"] for key in ("seconds", "agent_steps")
            }
            found.append(row)
            print(
                f"{name:9} {variant:21} {row['median_seconds']:6.2f} s (x{row['ratio_of_medians']['seconds']:.2f}), "
                f"{row['median_agent_steps'] / 1e6:6.2f} M agent steps, {row['skilled']} of {len(runs)} seeds",
                flush=True,
            )
    return found


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--drills", nargs="*", choices=tuple(SKILLS), default=list(SKILLS))
    parser.add_argument("--variants", nargs="*", choices=tuple(VARIANTS), default=list(VARIANTS))
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--every", type=int, default=2, help="updates from one judgement to the next")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a run is given up")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in options.drills:
        until_skilled(name, "random", 99, options.threads, 1, 0.1)  # compiles what is not cached yet
        for seed in options.seeds:
            for variant in options.variants:
                rows.append(until_skilled(name, variant, seed, options.threads, options.every, options.limit))
                row = rows[-1]
                print(
                    f"{name:9} seed {seed} {variant:21} {row['seconds']:6.2f} s, {row['agent_steps'] / 1e6:6.2f} M "
                    f"agent steps{'' if row['skilled'] else ', NOT REACHED'}",
                    flush=True,
                )
    result = {"skills": SKILLS, "threads": options.threads, "limit": options.limit, "rows": rows}
    print(write("minibatches", {**result, "summary": summary(rows, options.drills, options.variants)}))


if __name__ == "__main__":
    main()
