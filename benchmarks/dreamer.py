"""Dreamer on this machine: `python -m benchmarks.dreamer` writes benchmarks/results/dreamer-*.json.

    ingest    frames per second into the replay ring, beside copying the same bytes
    update    seconds of an update, of its two halves, and of as much arithmetic as plain matrix products (the floor)
    overfit   one batch of real frames, 500 updates: the world model's loss at the end, as a share of the first
    proofs    three more that the world model learns (benchmarks/dreamer_proofs.py)
    learning  a drill from pixels: the policy beside random play, episodes of the evaluator, per seed (`--learning S`)
    alone     a world model of Approach (or `--of ball`) by itself: what its latents say of headings, places, velocities
              (benchmarks/dreamer_heading.py)
    heading   whether a frame of Approach says where the player looks, or what latents of `--files` say (the same file)
    matches   the Ball Drill without a model: how often it is won by random play, by one action, by scripts, and what
              its reward terms pay (benchmarks/dreamer_matches.py)
    memory    the policies of `--files`, whose memory is cleared every so many steps (`--clear N N ...`)

`--only NAME` measures one of them, and nothing else measures the last, which needs files; `--keep FOLDER` writes such.
Times are of one torch thread; least and median, because the machine may be shared.
"""

from __future__ import annotations

import json
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmarks import dreamer_heading, dreamer_matches, dreamer_proofs
from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.algorithms.dreamer import evaluator
from dshq_widget.algorithms.dreamer.actor import Actor, Choose
from dshq_widget.algorithms.dreamer.games import FrameGames
from dshq_widget.algorithms.dreamer.ingest import ingest
from dshq_widget.algorithms.dreamer.model.agent import Dreamer
from dshq_widget.algorithms.dreamer.saved import dreamer_of
from dshq_widget.algorithms.dreamer.settings import DreamerSettings
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.drills.paddleball import PaddleBall
from dshq_widget.env.batch import compiled
from dshq_widget.pixels.ring import ReplayRing
from dshq_widget.policy import checkpoint
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
"""Frames of players and a ball, as those of Paddle Ball; a goal and a touch earn 1, a ball returned there 0.05. The
script of Approach touches every ball with actions kept as long. `alone` has them below what it is given; both drills
suggest the same with the size `spots`.
"""
SETTINGS: dict[str, dict[str, Any]] = {"bandit": BANDIT}
"""Where the drill suggests none."""
RETURNS = ("evaluated_return", "evaluated_return_random", "win_share_random", "win_rate_random", "win_share")
LOSSES = ("loss_image", "loss_reward", "loss_continue", "surprise", "entropy", "imagined_return", "return_scale")
CURVE = ("seconds", "agent_steps", "updates", "episodes", *RETURNS, *LOSSES)
"""Metrics of each row of a curve, beside the drill's reward terms; `win_share` is that against the first baseline."""
PLAYED = 256
"""Episodes of each policy in `memory`."""


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


@dataclass(frozen=True)
class How:
    """Of the learning runs: `settings` go before those of `SETTINGS`; policies are evaluated every `evaluate` seconds,
    and kept in the folder `keep`.
    """

    drill: str
    seconds: float
    seeds: Sequence[int]
    together: int
    settings: Mapping[str, Any]
    unmarked: bool
    evaluate: float
    keep: Path | None

    @property
    def game(self) -> CompiledDrill:
        """Raises ValueError for another drill than Approach without its mark."""
        if self.unmarked and self.drill != "approach":
            raise ValueError(f"--unmarked is for Approach: wanted --drill approach, got {self.drill!r}")
        return compiled(dreamer_heading.Unmarked if self.unmarked else self.drill)


def learning(how: How) -> dict[str, Any]:
    """Returns of whole episodes, from proper starts, of each seed's policy at intervals; to the drill's target, if it
    has one, or until the time is over. So many seeds run at once, each with one torch thread.
    """
    with ThreadPoolExecutor(how.together) as pool:
        runs = list(pool.map(lambda seed: one_run(how, seed), how.seeds))
    gaps = [above_random(how.drill, one) for one in runs]
    error = statistics.stdev(gaps) / math.sqrt(len(gaps)) if len(gaps) > 1 else None
    found = {"drill": how.drill, "marked": bool(how.game.spec.pointed), "together": how.together}
    return found | {"above_random": statistics.mean(gaps), "standard_error": error, "runs": runs}


def above_random(drill: str, run: dict[str, Any]) -> float:
    """How much more the policy gets than random play: mean return, or the share of matches won against random play."""
    found = run["metrics"]
    if compiled(drill).spec.sides == 1:
        return float(found["evaluated_return"] - found["evaluated_return_random"])
    chance = evaluator.by_chance(compiled(drill).spec.n_actions, 1024, 0)
    random = evaluator.play(compiled(drill), chance, 1024, 0, "random", run["settings"]["repeat"])
    return float(found["win_share_random"] - evaluator.matches(random)["win_share"])


def one_run(how: How, seed: int) -> dict[str, Any]:
    """One seed: its settings, its last metrics and its curve. Prints each row, since a run may take hours."""
    curve: list[dict[str, float]] = []
    given: dict[str, Any] = {"dreamer": {**SETTINGS.get(how.drill, {}), **how.settings}, "deterministic": True}
    terms = [f"reward_{term.name}" for term in how.game.spec.terms]
    with Trainer(how.game, algorithm="dreamer", seed=seed, evaluate_seconds=how.evaluate, **given) as run:

        def hear() -> None:
            row = {key: run.metrics[key] for key in (*CURVE, *terms) if key in run.metrics}
            if "episodes" in row and (not curve or curve[-1]["episodes"] < row["episodes"]):
                curve.append(row)
                print(json.dumps({"seed": seed, **row}), flush=True)

        run.on_change(hear)
        run.train_for(seconds=how.seconds, until_solved=run.drill.spec.target is not None, progress=False)
        if how.keep is not None:
            run.save(how.keep / f"{how.drill}-{seed}.dshq")
        return {"seed": seed, "settings": run.algorithm_settings, "metrics": run.metrics, "curve": curve}


def cleared(choose: Choose, every: int) -> Choose:
    """A policy whose memory is emptied every so many steps of an episode, as it is where a sequence begins."""
    since: list[torch.Tensor] = []

    def act(frames: torch.Tensor, is_first: torch.Tensor) -> torch.Tensor:
        step = torch.where(is_first, 0, since.pop() + 1) if since else torch.zeros(len(is_first), dtype=torch.int64)
        since.append(step)
        return choose(frames, step % every == 0)

    return act


def memory(files: Sequence[Path], clear: Sequence[int]) -> list[dict[str, Any]]:
    """Each file's policy with its whole memory (0) and with one that is cleared every so many steps: mean return of
    `PLAYED` episodes against random play, its standard error, and the shares of matches won and lost; also of the
    likeliest actions and of random play, whose actions are kept as long.
    """
    found = []
    for path in files:
        saved = checkpoint.load(path)
        drill = compiled(saved.drill)
        dreamer = dreamer_of(saved, drill.spec.n_actions)
        row: dict[str, Any] = {"drill": drill.name, "updates": saved.version, "settings": saved.algorithm_settings}
        ways: dict[str, Choose] = {
            "random": evaluator.by_chance(drill.spec.n_actions, PLAYED, 0),
            "greedy": evaluator.by_policy(dreamer, PLAYED, 0, greedy=True),
            "0": evaluator.by_policy(dreamer, PLAYED, 0),
        }
        ways |= {str(every): cleared(evaluator.by_policy(dreamer, PLAYED, 0), every) for every in clear}
        for name, chosen in ways.items():
            played = evaluator.play(drill, chosen, PLAYED, 0, "random", dreamer.settings.repeat)
            row[name] = {
                "return_mean": float(played.returns.mean()),
                "standard_error": float(played.returns.std() / math.sqrt(PLAYED)),
                "win_share": float((played.winners > 0).mean()),
                "loss_share": float((played.winners < 0).mean()),
                "steps_mean": float(played.lengths.mean() / dreamer.settings.repeat),
            }
        found.append(row)
    return found


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument(
        "--only", choices=("ingest", "update", "overfit", "proofs", "learning", "heading", "alone", "matches", "memory")
    )
    parser.add_argument("--drill", default="bandit", help="of the learning runs (default bandit)")
    parser.add_argument("--of", choices=("approach", "ball"), default="approach", help="drill of `alone`")
    parser.add_argument("--learning", type=float, default=600.0, help="seconds of each learning run (default 600)")
    parser.add_argument("--seeds", type=int, nargs="+", default=(0, 1, 2), help="of the learning runs (default 0 1 2)")
    parser.add_argument("--together", type=int, default=1, help="seeds that run at once (default 1)")
    parser.add_argument("--settings", type=json.loads, default={}, help="of dreamer, as JSON, before the usual ones")
    parser.add_argument("--unmarked", action="store_true", help="Approach without a mark of the heading in its frames")
    parser.add_argument("--evaluate", type=float, default=60.0, help="seconds between two evaluations (default 60)")
    parser.add_argument("--keep", type=Path, help="folder for the policies of the learning runs")
    parser.add_argument("--files", type=Path, nargs="*", default=(), help="policies for `heading` and `memory`")
    parser.add_argument("--clear", type=int, nargs="*", default=(4, 8, 16, 32), help="steps (default 4 8 16 32)")
    parser.add_argument("--name", default="", help="added to the result's name")
    options = parser.parse_args()
    torch.set_num_threads(1)
    measures: dict[str, Callable[[], Any]] = {
        "ingest": lambda: [ingest(compiled(name), 3.0, guard=True) for name in DRILLS],
        "update": updates,
        "overfit": overfit,
        "proofs": lambda: {"standing": dreamer_proofs.standing(), "rolling": dreamer_proofs.rolling()},
        "learning": lambda: learning(
            How(
                options.drill,
                options.learning,
                options.seeds,
                options.together,
                options.settings,
                options.unmarked,
                options.evaluate,
                options.keep,
            )
        ),
        "heading": lambda: dreamer_heading.heading(options.files),
        "alone": lambda: dreamer_heading.alone(compiled(options.of), {**BALL, **options.settings}),
        "matches": lambda: dreamer_matches.ball({**BALL, **options.settings}),
        "memory": lambda: memory(options.files, options.clear),
    }
    chosen = [options.only] if options.only else [name for name in measures if name != "memory"]
    result = {name: measures[name]() for name in chosen}
    print(write("_".join(filter(None, ("dreamer", options.only, options.name))), result))


if __name__ == "__main__":
    main()
