"""Dreamer on this machine: `python -m benchmarks.dreamer` writes benchmarks/results/dreamer-*.json.

    ingest    frames per second into the replay ring, beside copying the same bytes
    update    seconds of an update, of its two halves, and of as much arithmetic as plain matrix products (the floor)
    overfit   one batch of real frames, 500 updates: the world model's loss at the end, as a share of the first
    proofs    three more that the world model learns (benchmarks/dreamer_proofs.py)
    learning  a drill from pixels: the policy beside random play, episodes of the evaluator, per seed (`--learning S`)

`--only NAME` measures one of them. Times are of one torch thread; least and median, because the machine may be shared.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import dreamer_proofs
from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.algorithms.dreamer import evaluator
from dshq_widget.algorithms.dreamer.actor import Actor
from dshq_widget.algorithms.dreamer.games import FrameGames
from dshq_widget.algorithms.dreamer.ingest import ingest
from dshq_widget.algorithms.dreamer.model.agent import Dreamer
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.drills.paddleball import PaddleBall
from dshq_widget.env.batch import compiled
from dshq_widget.pixels.ring import ReplayRing
from dshq_widget.training.trainer import Trainer

DRILLS = ("approach", "paddleball", "ball")
SIZES = ("pico", "nano")
ROUNDS = 10
BANDIT = {
    "batch": 8,
    "starts": 128,
    "horizon": 5,
    "discount_horizon": 5,
    "entropy_coef": 0.05,
    "prefill": 2048,
    "learning_rate": 1e-3,
}
"""An answer earns at once: a short discount and a short imagination suffice."""
BALL = {**PaddleBall.algorithm_settings["dreamer"], "reward_scale": 10.0}
"""Frames of two players and a ball, as those of Paddle Ball; a goal earns 1, a ball returned there 0.05."""
SETTINGS: dict[str, dict[str, Any]] = {"bandit": BANDIT, "ball": BALL}
"""Where the drill suggests none."""
RETURNS = ("evaluated_return", "evaluated_return_random", "win_share_random", "win_share")
CURVE = ("seconds", "agent_steps", "updates", "episodes", *RETURNS)
"""Metrics of each row of a curve; `win_share` is that against the first baseline."""


def played(drill: str, settings: DreamerSettings, rows: int = 200, seed: int = 0) -> Actor:
    """An actor after so many rows of random play."""
    games = FrameGames(compiled(drill), settings.games, seed, gamma=settings.discount)
    actor = Actor(games, ReplayRing(settings.rows, settings.games), seed)
    for _ in range(rows):
        actor.step(actor.random)
    return actor


def timed(act: Callable[[], Any], rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds: the least and the median."""
    act()
    found = []
    for _ in range(rounds):
        begin = time.perf_counter()
        act()
        found.append(time.perf_counter() - begin)
    return {"least": min(found), "median": statistics.median(found)}


def gemm(n: int = 768) -> float:
    """Floating point operations per second of matrix products."""
    a, out = torch.randn(n, n), torch.empty(n, n)
    return 2 * n**3 / timed(lambda: torch.mm(a, a, out=out))["least"]


def updates() -> dict[str, Any]:
    """Of each size for a processor, with the default batch."""
    found: dict[str, Any] = {"gemm_flops_per_second": gemm()}
    for size in SIZES:
        settings = DreamerSettings(size=size)
        actor = played("approach", settings)
        dreamer = Dreamer(settings, actor.games.n_actions, 0)
        batch = actor.sample(settings.batch, settings.sequence, torch.Generator().manual_seed(0))
        assert batch is not None
        with FlopCounterMode(display=False) as counter:
            dreamer.learn(batch)
        _, states = dreamer.model_gradients(batch)
        row: dict[str, Any] = {
            "parameters": sum(len(each.weights) for each in dreamer.optimisers.values()),
            "flops": counter.get_total_flops(),
            "update_seconds": timed(lambda: dreamer.learn(batch)),  # noqa: B023
            "model_seconds": timed(lambda: dreamer.model_gradients(batch)),  # noqa: B023
            "behaviour_seconds": timed(lambda: dreamer.behaviour_gradients(batch, states)),  # noqa: B023
        }
        row["replayed_steps_per_second"] = settings.batch * settings.sequence / row["update_seconds"]["median"]
        row["floor_seconds"] = row["flops"] / found["gemm_flops_per_second"]
        found[size] = row
    return found


def overfit(steps: int = 500) -> dict[str, Any]:
    """One batch of random play on Approach, again and again."""
    settings = DreamerSettings(batch=4, sequence=8, starts=16, horizon=5, learning_rate=1e-3)
    actor = played("approach", settings)
    dreamer = Dreamer(settings, actor.games.n_actions, 0)
    batch = actor.sample(settings.batch, settings.sequence, torch.Generator().manual_seed(0))
    assert batch is not None
    losses = [dreamer.learn(batch)["loss_image"] for _ in range(steps)]
    return {"steps": steps, "loss_image": losses[:: max(steps // 50, 1)] + losses[-1:], "share": losses[-1] / losses[0]}


def learning(drill: str, seconds: float, seeds: int, together: int) -> dict[str, Any]:
    """Returns of whole episodes, from proper starts, of each seed's policy at intervals; to the drill's target, if it
    has one, or until the time is over. So many seeds run at once, each with one torch thread.
    """
    with ThreadPoolExecutor(together) as pool:
        runs = list(pool.map(lambda seed: one_run(drill, seconds, seed), range(seeds)))
    gaps = [above_random(drill, one) for one in runs]
    error = statistics.stdev(gaps) / math.sqrt(len(gaps)) if len(gaps) > 1 else None
    found = {"drill": drill, "together": together, "above_random": statistics.mean(gaps), "standard_error": error}
    return found | {"runs": runs}


def above_random(drill: str, run: dict[str, Any]) -> float:
    """How much more the policy gets than random play: mean return, or the share of matches won against random play."""
    found = run["metrics"]
    if compiled(drill).spec.sides == 1:
        return float(found["evaluated_return"] - found["evaluated_return_random"])
    chance = evaluator.by_chance(compiled(drill).spec.n_actions, 1024, 0)
    random = evaluator.play(compiled(drill), chance, 1024, 0, "random", run["settings"]["repeat"])
    return float(found["win_share_random"] - evaluator.matches(random)["win_share"])


def one_run(drill: str, seconds: float, seed: int) -> dict[str, Any]:
    """One seed: its settings, its last metrics and its curve."""
    curve: list[dict[str, float]] = []
    how: dict[str, Any] = {"dreamer": SETTINGS.get(drill, {}), "deterministic": True}
    with Trainer(drill, algorithm="dreamer", seed=seed, evaluate_seconds=60, **how) as run:

        def hear() -> None:
            row = {key: run.metrics[key] for key in CURVE if key in run.metrics}
            if "episodes" in row and (not curve or curve[-1]["episodes"] < row["episodes"]):
                curve.append(row)

        run.on_change(hear)
        run.train_for(seconds=seconds, until_solved=run.drill.spec.target is not None, progress=False)
        return {"seed": seed, "settings": run.algorithm_settings, "metrics": run.metrics, "curve": curve}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--only", choices=("ingest", "update", "overfit", "proofs", "learning"))
    parser.add_argument("--drill", default="bandit", help="of the learning runs (default bandit)")
    parser.add_argument("--learning", type=float, default=600.0, help="seconds of each learning run (default 600)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--together", type=int, default=1, help="seeds that run at once (default 1)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    measures: dict[str, Callable[[], Any]] = {
        "ingest": lambda: [ingest(compiled(name), 3.0, guard=True) for name in DRILLS],
        "update": updates,
        "overfit": overfit,
        "proofs": lambda: {"standing": dreamer_proofs.standing(), "rolling": dreamer_proofs.rolling()},
        "learning": lambda: learning(options.drill, options.learning, options.seeds, options.together),
    }
    chosen = [options.only] if options.only else list(measures)
    result = {name: measures[name]() for name in chosen}
    print(write("dreamer" + (f"_{options.only}" if options.only else ""), result))


if __name__ == "__main__":
    main()
