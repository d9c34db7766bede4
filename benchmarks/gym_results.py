"""What PPO reaches in Gymnasium's environments with the settings that each starts from, beside published figures.

`python -m benchmarks.gym_results SUITE` writes benchmarks/results/gym_SUITE-*.json after every run: settings, the
curve, and the mean return of the last 100 episodes of training. SUITE is one of

- `robots`: MuJoCo's Hopper, HalfCheetah and Walker2d, a million steps, seeds 0, 1, 2;
- `classic`: Gymnasium's classic control until it is solved: the threshold of its registry over 100 episodes. Pendulum
  has none there; -200 is the usual one (assumed);
- `atari`: Pong and Breakout without sticky actions, as CleanRL plays them, one seed, for `--minutes`;
- `minigrid`: five of MiniGrid's, each for the steps of RL Baselines3 Zoo's agent, seeds 0, 1, 2;
- `minatar`: MinAtar's five games with sticky actions and all six actions, as its authors play them, a million frames.

`--only`, `--seeds`, `--steps`, `--minutes` and `--at-once` change that. `--read FOLDER` plays nothing and takes runs
from what `dshq train gym:ID --log-dir FOLDER` wrote, for runs that take hours and may be continued. `--draw FILE
PICTURE` draws the curves of such a result (matplotlib, the extra `plots`). The packages are those of `make test-peers`.
Targets (stated before measuring): each robot's mean over three seeds within CleanRL's mean and deviation or above;
every classic one solved by two of three seeds; at equal steps Pong within 5 points of CleanRL's curve; MiniGrid's
within 0.05 of the Zoo's; MinAtar's above the better of its authors' two learners at equal frames.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import statistics
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.machine import version_of, write
from benchmarks.running import parser_of
from dshq_widget import Trainer

PACKAGES = ("gymnasium", "mujoco", "ale-py", "minigrid", "minatar", "torch")


@dataclasses.dataclass(frozen=True)
class Suite:
    """Environments that are trained alike."""

    names: tuple[str, ...]
    steps: int
    """Agent steps of a run at most."""
    steps_of: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """The same for environments that have their own."""
    seeds: tuple[int, ...] = (0, 1, 2)
    until_solved: bool = False
    minutes: float | None = None
    at_once: int = 2
    """Runs side by side, one core each."""
    given: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Settings beside those that an environment starts from."""


SUITES = {
    "robots": Suite(("Hopper-v4", "HalfCheetah-v4", "Walker2d-v4"), 1_000_000),
    "classic": Suite(
        ("CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"),
        1_000_000,
        until_solved=True,
    ),
    "atari": Suite(("PongNoFrameskip-v4", "BreakoutNoFrameskip-v4"), 10_000_000, seeds=(0,), minutes=60.0, at_once=1),
    "minigrid": Suite(
        (
            "MiniGrid-Empty-Random-5x5-v0",
            "MiniGrid-DoorKey-5x5-v0",
            "MiniGrid-Unlock-v0",
            "MiniGrid-KeyCorridorS3R1-v0",
            "MiniGrid-RedBlueDoors-6x6-v0",
        ),
        100_000,
        {"MiniGrid-KeyCorridorS3R1-v0": 500_000, "MiniGrid-RedBlueDoors-6x6-v0": 1_000_000},
        given={"workers": 0},
    ),
    "minatar": Suite(
        tuple(f"MinAtar/{game}-v0" for game in ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")),
        1_000_000,
        seeds=(0,),
        given={"workers": 0},
    ),
}
USUAL_TARGETS = {"Pendulum-v1": -200.0}

CLEANRL = "CleanRL, commit fe8d8a0, "
ZOO = "RL Baselines3 Zoo, commit 22e3ff2, benchmark.md (PPO, one agent, its likeliest actions), "
PUBLISHED: dict[str, tuple[float, float, str]] = {
    "HalfCheetah-v4": (1442.64, 46.03, CLEANRL + "docs/benchmark/ppo_continuous_action.md"),
    "Walker2d-v4": (2287.95, 571.78, CLEANRL + "docs/benchmark/ppo_continuous_action.md"),
    "Hopper-v4": (2382.86, 271.74, CLEANRL + "docs/benchmark/ppo_continuous_action.md"),
    "CartPole-v1": (490.04, 6.12, CLEANRL + "docs/rl-algorithms/ppo.md (ppo.py, 500,000 steps)"),
    "Acrobot-v1": (-86.36, 1.32, CLEANRL + "docs/rl-algorithms/ppo.md (ppo.py, 500,000 steps)"),
    "MountainCar-v0": (-200.0, 0.0, CLEANRL + "docs/rl-algorithms/ppo.md (ppo.py, 500,000 steps)"),
    "PongNoFrameskip-v4": (20.36, 0.20, CLEANRL + "docs/rl-algorithms/ppo.md (ppo_atari.py, 10 million steps)"),
    "BreakoutNoFrameskip-v4": (414.66, 28.09, CLEANRL + "docs/rl-algorithms/ppo.md (ppo_atari.py, 10 million steps)"),
    "MiniGrid-Empty-Random-5x5-v0": (0.968, 0.013, ZOO + "100,000 steps"),
    "MiniGrid-DoorKey-5x5-v0": (0.964, 0.006, ZOO + "100,000 steps"),
    "MiniGrid-Unlock-v0": (0.963, 0.016, ZOO + "100,000 steps"),
    "MiniGrid-KeyCorridorS3R1-v0": (0.949, 0.011, ZOO + "500,000 steps"),
    "MiniGrid-RedBlueDoors-6x6-v0": (0.860, 0.313, ZOO + "a million steps"),
}
"""Mean and deviation at the end, over seeds (the Zoo's: over episodes), and where they stand. One step of an Atari game
is four frames."""
MINATAR_STEPS = [0.1e6, 0.25e6, 0.5e6, 0.75e6, 1e6, 1.5e6, 2e6, 3e6, 4e6, 4.95e6]
PONG_STEPS = [0, 0.25e6, 0.5e6, 0.75e6, 1e6, 1.25e6, 1.5e6, 1.75e6, 2e6, 2.25e6, 2.5e6, 3e6, 4e6, 6e6, 8e6, 10e6]
BANDS: dict[str, dict[str, tuple[list[float], list[float], list[float]]]] = {
    "PongNoFrameskip-v4": {
        "CleanRL": (
            PONG_STEPS,
            [-20.8, -20.6, -19.9, -18.3, -13.9, -9.2, -0.7, 4.6, 8.4, 11.8, 13.2, 14.6, 17.7, 18.5, 19.8, 20.3],
            [-20.4, -20.3, -18.8, -9.0, -1.9, 3.0, 10.0, 13.9, 16.7, 17.9, 19.0, 19.5, 20.3, 20.7, 20.8, 20.9],
        ),
    },
}
"""Agent steps and the two edges of the band around a published curve, where it has one: CleanRL's is of three seeds."""
CURVES: dict[str, dict[str, tuple[list[float], list[float]]]] = {
    "PongNoFrameskip-v4": {
        "CleanRL": (
            PONG_STEPS,
            [-20.6, -20.4, -19.5, -14.9, -8.9, -3.4, 5.0, 9.6, 12.7, 14.9, 16.1, 17.1, 19.1, 19.6, 20.3, 20.6],
        ),
    },
    "BreakoutNoFrameskip-v4": {
        "CleanRL": (
            [0, 0.25e6, 0.5e6, 1e6, 1.5e6, 2e6, 3e6, 4e6, 5e6, 6e6, 7e6, 8e6, 9e6, 10e6],
            [2, 7, 11, 19, 32, 49, 101, 153, 205, 260, 305, 340, 395, 415],
        ),
    },
    "MinAtar/Asterix-v0": {
        "DQN": (MINATAR_STEPS, [0.5, 0.8, 1.0, 2.0, 7.0, 13.0, 14.3, 15.5, 16.5, 17.0]),
        "AC(0.8)": (MINATAR_STEPS, [0.5, 0.5, 0.6, 0.7, 0.8, 2.4, 6.4, 13.4, 16.9, 18.6]),
    },
    "MinAtar/Breakout-v0": {
        "DQN": (MINATAR_STEPS, [4.4, 6.6, 8.3, 8.9, 9.2, 9.4, 9.6, 9.9, 9.9, 10.1]),
        "AC(0.8)": (MINATAR_STEPS, [3.8, 5.5, 6.9, 8.4, 9.9, 12.3, 14.2, 16.8, 17.6, 17.6]),
    },
    "MinAtar/Freeway-v0": {
        "DQN": (MINATAR_STEPS, [5.5, 7.1, 33.7, 45.3, 47.8, 50.4, 50.7, 50.2, 50.0, 50.2]),
        "AC(0.8)": (MINATAR_STEPS, [0.2, 0.2, 0.2, 0.2, 0.2, 2.9, 14.4, 43.6, 46.4, 47.5]),
    },
    "MinAtar/Seaquest-v0": {
        "DQN": (MINATAR_STEPS, [0.5, 0.8, 0.8, 0.9, 1.0, 2.0, 4.9, 12.9, 17.7, 20.2]),
        "AC(0.8)": (MINATAR_STEPS, [0.5, 0.6, 0.7, 0.8, 0.8, 1.1, 2.1, 6.3, 11.2, 15.4]),
    },
    "MinAtar/SpaceInvaders-v0": {
        "DQN": (MINATAR_STEPS, [15.1, 21.2, 27.8, 28.5, 32.8, 38.3, 41.1, 43.9, 43.9, 43.7]),
        "AC(0.8)": (MINATAR_STEPS, [7.5, 15.2, 26.8, 35.9, 51.6, 84.1, 106.2, 141.6, 167.4, 184.7]),
    },
}
"""Agent steps and returns of published curves. CleanRL's are docs/rl-algorithms/ppo/ID.png at the same commit: Pong's
with its band were read from the pixels, to about a tenth of a point, Breakout's by eye, to about 10. MinAtar's, of its
authors' two best learners, 30 seeds each (Young and Tian, 2019), were read from the pixels of img/learning_curves.gif
of its repository, commit 4241f24, to about a hundredth of the highest return; below 1 the lines lie on one another.
Seaquest was easier to lose then, as its README says."""


def published_at(name: str, steps: float) -> dict[str, float]:
    """Published returns after so many steps, where a curve is known and that long; by who learned."""
    return {
        who: float(np.interp(steps, places, returns))
        for who, (places, returns) in CURVES.get(name, {}).items()
        if places[0] <= steps <= places[-1]
    }


def band_at(name: str, steps: float) -> dict[str, tuple[float, float]]:
    """Edges of the published bands after so many steps; by who learned."""
    return {
        who: (float(np.interp(steps, places, low)), float(np.interp(steps, places, high)))
        for who, (places, low, high) in BANDS.get(name, {}).items()
        if places[0] <= steps <= places[-1]
    }


KEYS = ("agent_steps", "seconds", "return_mean", "evaluated_return", "approx_kl", "explained_variance")
"""Metrics of a curve's points."""


def train(suite: Suite, name: str, seed: int) -> dict[str, Any]:
    """One run: its settings, curve and end."""
    target = USUAL_TARGETS.get(name)
    with Trainer(f"gym:{name}", seed=seed, **suite.given) as trainer:
        seconds = None if suite.minutes is None else 60 * suite.minutes
        trainer.train_for(
            agent_steps=None if seconds else suite.steps_of.get(name, suite.steps),
            seconds=seconds,
            until_solved=suite.until_solved and target is None,
            stop_when=None if target is None else lambda now: now.get("evaluated_return", -np.inf) >= target,
            progress=False,
        )
        if trainer.error:
            raise RuntimeError(trainer.error)
        goal = trainer.drill.spec.target if target is None else target
        return row_of(name, trainer.config.to_json(), goal, trainer.history, trainer.metrics)


def row_of(
    name: str,
    settings: Mapping[str, Any],
    target: float | None,
    history: Sequence[Mapping[str, Any]],
    last: Mapping[str, Any],
) -> dict[str, Any]:
    """One run as the result has it, of its metrics."""
    steps, seconds = last["agent_steps"], last["seconds"]
    return {
        "environment": name,
        "seed": settings["seed"],
        "settings": settings,
        "target": target,
        "return": last.get("evaluated_return"),
        "agent_steps": steps,
        "seconds": seconds,
        "agent_steps_per_second": steps / seconds,
        "published_at_these_steps": published_at(name, steps),
        "published_band_at_these_steps": band_at(name, steps),
        "curve": [{key: row[key] for key in KEYS if key in row} for row in thinned(history)],
    }


def read_run(folder: Path) -> dict[str, Any]:
    """The run that `dshq train gym:ID --log-dir FOLDER` made, which may have been continued."""
    ran = yaml.safe_load((folder / "run.yaml").read_text(encoding="utf-8"))
    with (folder / "metrics.csv").open(encoding="utf-8") as file:
        rows = [
            {column.rpartition("/")[2]: float(value) for column, value in row.items() if value}
            for row in csv.DictReader(file)
        ]
    name = ran["run"]["drill"].removeprefix("gym:")
    return row_of(name, ran["training_core"], None, rows, rows[-1])


def thinned(rows: Sequence[Mapping[str, Any]], most: int = 200) -> list[Mapping[str, Any]]:
    """At most so many rows, evenly, the last one among them."""
    return list(rows[:: -(len(rows) // -most) or 1]) + list(rows[-1:])


def summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row for each environment, over its seeds."""
    found = []
    for name in dict.fromkeys(row["environment"] for row in rows):
        runs = [row for row in rows if row["environment"] == name]
        returns = [row["return"] for row in runs if row["return"] is not None]
        target = runs[0]["target"]
        mean, deviation, where = PUBLISHED.get(name, (None, None, None))
        found.append(
            {
                "environment": name,
                "seeds": [row["seed"] for row in runs],
                "return_mean": statistics.fmean(returns) if returns else None,
                "return_deviation": statistics.pstdev(returns) if returns else None,
                "solved": None if target is None else sum(value >= target for value in returns),
                "agent_steps": [row["agent_steps"] for row in runs],
                "minutes": [row["seconds"] / 60 for row in runs],
                "published_mean": mean,
                "published_deviation": deviation,
                "published_in": where,
            }
        )
    return found


def draw(rows: Sequence[Mapping[str, Any]], path: str) -> None:
    """One field for each environment: returns over agent steps, one line per seed; dashed what is published, where
    only the end is known with its deviation.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    names = list(dict.fromkeys(row["environment"] for row in rows))
    figure, fields = pyplot.subplots(1, len(names), figsize=(3.6 * len(names), 2.9), squeeze=False)
    for field, name in zip(fields.flat, names, strict=True):
        label = "here, one line per seed"
        for row in (row for row in rows if row["environment"] == name):
            points = [point for point in row["curve"] if point.get("evaluated_return") is not None]
            places = [point["agent_steps"] for point in points], [point["evaluated_return"] for point in points]
            field.plot(*places, color="#2a6fbb", lw=1.2, label=label)
            label = "_"
        last = max(row["agent_steps"] for row in rows if row["environment"] == name)
        for who, color in zip(CURVES.get(name, {}), ("#c8553d", "#2f8f6b"), strict=False):
            points = [(step, published_at(name, step).get(who)) for step in np.linspace(0, last, 60)]
            edges = [(step, *band_at(name, step)[who]) for step in np.linspace(0, last, 60) if band_at(name, step)]
            if edges:
                field.fill_between(*zip(*edges, strict=True), color=color, alpha=0.12, lw=0)
            field.plot(*zip(*points, strict=True), color=color, ls="--", lw=1, label=who)
        if name in PUBLISHED and name not in CURVES:
            mean, deviation, where = PUBLISHED[name]
            field.axhline(mean, color="#c8553d", ls="--", lw=1, label=where.partition(",")[0] + ", at the end")
            field.axhspan(mean - deviation, mean + deviation, color="#c8553d", alpha=0.12, lw=0)
        field.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
        field.set_title(name, fontsize=10)
        field.tick_params(labelsize=7)
        field.legend(fontsize=7, loc="best", frameon=False)
        field.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("agent steps", fontsize=9)
    figure.supylabel("mean return of 100 episodes", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    pyplot.close(figure)


def keep(suite: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the result of these runs."""
    versions = {package: version_of(package) for package in PACKAGES}
    write(f"gym_{suite}", {"packages": versions, "summary": summary(rows), "rows": rows})


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("suite", choices=SUITES)
    parser.add_argument("--draw", nargs=2, metavar=("FILE", "PICTURE"), help="measure nothing, draw this result")
    parser.add_argument(
        "--read", nargs="*", type=Path, metavar="FOLDER", help="play nothing, read these runs' --log-dir"
    )
    parser.add_argument("--only", nargs="*", help="ids instead of the suite's")
    parser.add_argument("--seeds", type=int, nargs="*")
    parser.add_argument("--steps", type=int, help="agent steps of a run")
    parser.add_argument("--minutes", type=float, help="minutes of training of a run, instead of steps")
    parser.add_argument("--at-once", type=int, help="runs side by side")
    given = parser.parse_args()
    if given.draw:
        draw(json.loads(Path(given.draw[0]).read_text())["rows"], given.draw[1])
        return
    if given.read:
        keep(given.suite, [read_run(folder) for folder in given.read])
        return
    changed = {"names": given.only, "seeds": given.seeds, "steps": given.steps, "minutes": given.minutes}
    changed |= {"at_once": given.at_once}
    suite = dataclasses.replace(SUITES[given.suite], **{key: value for key, value in changed.items() if value})
    suite = dataclasses.replace(suite, steps_of={}) if given.steps else suite
    rows: list[dict[str, Any]] = []
    lock = threading.Lock()

    def run(name: str, seed: int) -> None:
        row = train(suite, name, seed)
        with lock:
            rows.append(row)
            rows.sort(key=lambda row: (suite.names.index(row["environment"]), row["seed"]))
            keep(given.suite, rows)
            shown = "no hundred episodes" if row["return"] is None else f"{row['return']:,.2f}"
            print(
                f"{name:26} seed {seed}: {shown} after {row['agent_steps']:,} steps in {row['seconds'] / 60:.1f} "
                f"minutes ({row['agent_steps_per_second']:,.0f}/s)",
                flush=True,
            )

    with ThreadPoolExecutor(suite.at_once) as pool:
        runs = [pool.submit(run, name, seed) for name in suite.names for seed in suite.seeds]
    for one in runs:
        one.result()
    for row in summary(rows):
        mean, published = row["return_mean"], row["published_mean"]
        told = "unknown" if mean is None else f"{mean:,.2f} ± {row['return_deviation']:,.2f}"
        theirs = "" if published is None else f"; published {published:,.2f} ± {row['published_deviation']:,.2f}"
        print(f"{row['environment']:26} {told}{theirs}")


if __name__ == "__main__":
    main()
