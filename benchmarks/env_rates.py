"""CartPole as somebody else's learner has it: steps/s of this package's environments beside Gymnasium's, at equal
numbers of games, one core, in one run.

`python -m benchmarks.env_rates` writes benchmarks/results/env_rates-*.json. Both are called through `step` with the
same actions, and hand out observations, rewards, ends and infos; resets are included. One game is `make` beside
`gymnasium.make` (without its checker and order enforcement, which ours has not either); from 16 games on it is
`make_vec` beside Gymnasium's NumPy version. Rounds are in turn. Targets (stated before measuring): at least as fast at
every number of games from 16 on; a single game at half of Gymnasium's rate.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

from benchmarks.machine import version_of, write
from benchmarks.running import hold_to_one_core, parser_of, spread
from dshq_widget import make, make_vec

GAMES = (1, 16, 64, 256, 1024, 4096, 16384)
PLAIN = {"disable_env_checker": True}


def alone(env: Any, seconds: float) -> float:
    """Steps/s of a single environment."""
    actions = np.random.default_rng(0).integers(0, 2, 1024).tolist()
    env.reset(seed=0)
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        count += len(actions)
    return count / (time.perf_counter() - begin)


def together(env: Any, games: int, seconds: float) -> float:
    """Steps/s of all games of a vector environment."""
    actions = np.random.default_rng(0).integers(0, 2, (64, games))
    env.reset(seed=0)
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for row in actions:
            env.step(row)
        count += actions.size
    return count / (time.perf_counter() - begin)


def pair(games: int) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Ours and Gymnasium's, each as a function of the seconds to measure."""
    if games == 1:
        ours, theirs = make("cartpole"), gymnasium.make("CartPole-v1", **PLAIN).unwrapped
        limited = gymnasium.wrappers.TimeLimit(theirs, 500)
        return lambda seconds: alone(ours, seconds), lambda seconds: alone(limited, seconds)
    many = make_vec("cartpole", num_envs=games)
    numpy_version = gymnasium.make_vec("CartPole-v1", games, vectorization_mode="vector_entry_point")
    return lambda seconds: together(many, games, seconds), lambda seconds: together(numpy_version, games, seconds)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    hold_to_one_core()
    rows = []
    for games in GAMES:
        ours, theirs = pair(games)
        ours(0.1), theirs(0.1)
        measured = [(ours(options.seconds), theirs(options.seconds)) for _ in range(options.rounds)]
        row: dict[str, Any] = {"games": games}
        for name, rates in zip(("ours", "gymnasium"), zip(*measured, strict=True), strict=True):
            row[name] = spread(rates)
        row["ratio_of_medians"] = row["ours"]["median"] / row["gymnasium"]["median"]
        rows.append(row)
        print(
            f"{games:6} games: {row['ours']['median']:>12,.0f} steps/s, Gymnasium "
            f"{row['gymnasium']['median']:>12,.0f}, ratio {row['ratio_of_medians']:.2f}",
            flush=True,
        )
    versions = {"gymnasium": version_of("gymnasium"), "numpy": np.__version__}
    print(write("env_rates", {"versions": versions, "rows": rows}))


if __name__ == "__main__":
    main()
