"""What a GPU gives: `dshq bench --device cuda`, the skill at equal steps beside the processor's, the time to skill.

`python -m benchmarks.gpu` writes benchmarks/results/gpu_PART-*.json after each row; `--part` does one, in ten minutes
or less.
Targets (stated before measuring): docs/howto/gpu.md. Skill is the share of decided matches won against the chaser in
`MATCHES` matches; time is that of training, warm, without start-up and evaluation. `--device cpu` tries the script
itself: small, with the resident learner's twin, and nothing is written.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_kernels.play.players import POLICY
from dshq_kernels.play.rollout import Player, play_matches
from dshq_widget.algorithms.ppo.learners import learners
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.resident_games import ResidentGames
from dshq_widget.cli.bench_cuda import bench_cuda
from dshq_widget.contract.settings import POOL, TrainConfig, of_drill, without_opponents
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import compiled
from dshq_widget.learning.games import OwnGames
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime import budget

PARTS = ("rates", "equal steps", "time to skill")
PRECISIONS = ("tf32", "bf16", "f32")
MATCHES = 2000
SKILL = 0.95
STEPS = 30_000_000
LIMIT = 10.0
"""Seconds of training after which a run is given up."""
LOOKS = 0.2
"""Seconds of training between two evaluations."""
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "4,096 games": {"num_envs": 4096, "minibatch_size": 8192},
    "8,192 games": {"num_envs": 8192, "rollout_length": 16, "minibatch_size": 8192},
    "16,384 games": {"num_envs": 16384, "rollout_length": 16, "minibatch_size": 16384, "learning_rate": 4e-3},
}


class Run:
    """One training, step by step; `kind` is "fused", on the processor, or "resident", on `device`. Nobody keeps earlier
    versions here, so their share of the games is the others'.
    """

    def __init__(self, drill: CompiledDrill, config: TrainConfig, kind: str, device: str):
        config = without_opponents(config, [POOL])
        self.drill, self.config, self.done, self.seconds = drill, config, 0, 0.0
        self.spec = PolicySpec.for_config(drill.spec, config)
        threads = min(budget.usable_processors(budget.cpu_budget()), budget.MOST_THREADS)
        options: dict[str, Any] = {"seed": config.seed, "threads": threads}
        self.games: Any
        if kind == "resident":
            self.learner = learners[kind](self.spec, device=device, graph=device == "cuda", **options)
            self.games = ResidentGames(drill, config, self.learner)  # type: ignore[arg-type]  # it is ResidentPPO
        else:
            self.learner, self.games = learners[kind](self.spec, **options), OwnGames(drill, config, threads)
        self._learn(Hyper(learning_rate=0.0, minibatch_size=config.minibatch_size))  # compiles, records the graphs

    def _learn(self, hyper: Hyper) -> int:
        batch = self.games.next(self.learner, self.config, 0)
        self.learner.update(batch.samples, batch.units, hyper)
        return len(batch.units) * 16

    def update(self) -> None:
        """Play and learn once."""
        begin = time.perf_counter()
        self.done += self._learn(Hyper.at(self.config, self.done))
        self.seconds += time.perf_counter() - begin

    def skill(self, seed: int = 99) -> dict[str, float]:
        """Matches against the chaser, now."""
        player = Player(POLICY, self.spec.layers, 1, self.learner.blob())
        result = play_matches(self.drill.game(), self.drill.spec, player, Player(0), MATCHES, seed=seed).result
        won, lost = int((result > 0).sum()), int((result < 0).sum())
        decided = won / max(1, won + lost)
        row = {"agent_steps": self.done, "seconds": self.seconds, "of_decided": decided, "of_all": won / MATCHES}
        print(json.dumps(row), flush=True)
        return row


def rates(drill: CompiledDrill) -> Iterator[list[dict[str, Any]]]:
    """`dshq bench --device cuda` by precision, with the network's kernels and with torch's own operations."""
    found: list[dict[str, Any]] = []
    for precision, kernels in itertools.product(PRECISIONS, (True, False)):
        found.append(bench_cuda(drill, precision=precision, kernels=kernels))
        print(json.dumps(found[-1]), flush=True)
        yield found


def equal_steps(drill: CompiledDrill, device: str, steps: int, seeds: range) -> Iterator[dict[str, Any]]:
    """Both learners with the drill's own settings: what they win after the same number of agent steps."""
    found: dict[str, Any] = {"fused": [], "resident": []}
    for kind, rows in found.items():
        for seed in seeds:
            run = Run(drill, of_drill(drill.spec).replace({"seed": seed, "total_agent_steps": steps}), kind, device)
            while run.done < steps:
                run.update()
            rows.append(run.skill())
            yield found
    means = [float(np.mean([row["of_decided"] for row in rows])) for rows in found.values()]
    yield {**found, "difference_of_means": means[1] - means[0]}


def time_to_skill(drill: CompiledDrill, device: str, limit: float, seeds: range) -> Iterator[dict[str, Any]]:
    """By settings: seconds of training until two looks one after the other, at other matches, are good enough."""
    found: dict[str, Any] = {}
    for name, hyper in SETTINGS.items():
        found[name] = {"hyper": hyper, "runs": []}
        for seed in seeds:
            print(name, seed, flush=True)
            config = of_drill(drill.spec).replace({**hyper, "seed": seed})
            run, since, skilled = Run(drill, config, "resident", device), 0.0, False
            look: dict[str, float] = {}
            while run.seconds < limit and not skilled:
                run.update()
                if run.seconds - since < LOOKS:
                    continue
                since, look = run.seconds, run.skill()
                skilled = look["of_decided"] >= SKILL and run.skill(seed=98)["of_decided"] >= SKILL
            found[name]["runs"].append({**look, "skilled": skilled})
            yield found


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--part", choices=PARTS, help="one part alone")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    options = parser.parse_args()
    drill, on_gpu = compiled("ball"), options.device == "cuda"
    steps, limit = (STEPS, LIMIT) if on_gpu else (200_000, 0.5)
    for part in [options.part] if options.part else PARTS:
        if part == "rates":
            rows: Iterator[Any] = rates(drill) if on_gpu else iter(())
        elif part == "equal steps":
            rows = equal_steps(drill, options.device, steps, range(3 if on_gpu else 1))
        else:
            rows = time_to_skill(drill, options.device, limit, range(5 if on_gpu else 1))
        for found in rows:
            if on_gpu:
                write(f"gpu_{part.replace(' ', '_')}", {"gpu": torch.cuda.get_device_name(), part: found})


if __name__ == "__main__":
    main()
