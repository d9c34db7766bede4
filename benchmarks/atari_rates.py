"""Decisions per second of PPO on an Atari game, and where the time goes, with frames that are made smaller on the
processor and on the learner's device; beside CleanRL's PPO and EnvPool's games, on the same core, in one run.

`python -m benchmarks.atari_rates` writes benchmarks/results/atari_rates-*.json. `--cleanrl-python` and `--cleanrl`
name an interpreter with gymnasium 0.29 and a checkout of CleanRL (peers/cleanrl_atari.py), `--envpool-python` one with
envpool; without them they are left out. Everybody has one thread on one core, 16 games of Breakout, 128 decisions of
each a rollout, minibatches of 256, four epochs and the same network, and rounds are in turn. Beside seconds there are
seconds of the processor, which other work on the machine changes less. `alone` are games with random actions and no
learner. A decision is four frames.
"""

from __future__ import annotations

import functools
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.machine import version_of, write
from benchmarks.peers.running import run
from benchmarks.running import parser_of

GAME = "BreakoutNoFrameskip-v4"
FRAMES = ("processor", "device")
PARTS = ("emulator", "frames", "copies", "network", "update", "rest")
MILLIONS = 40
"""Of frames, as Mnih et al. (2015) count them: what a published curve of 10 million decisions is made of."""


class Parts:
    """Processor seconds of calls by what they are for; those of a call within another count for the inner one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.inner = [0.0]

    def timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def wrapper(*given: Any, **named: Any) -> Any:
            begin = time.process_time()
            self.inner.append(0.0)
            try:
                return call(*given, **named)
            finally:
                spent = time.process_time() - begin
                self.seconds[part] += spent - self.inner.pop()
                self.inner[-1] += spent

        return wrapper

    def patch(self, owner: Any, name: str, part: str) -> None:
        setattr(owner, name, self.timed(part, getattr(owner, name)))


def train(frames: str, seconds: float, seed: int) -> dict[str, Any]:
    """What a run of about so many seconds says of itself, as JSON."""
    import ale_py.env
    import gymnasium
    import torch

    from dshq_widget.algorithms.ppo.gym_games import GymGames
    from dshq_widget.algorithms.ppo.learners.gym_ppo import GymPPO
    from dshq_widget.algorithms.ppo.learners.learner import Hyper
    from dshq_widget.algorithms.ppo.sights import StackedScreens
    from dshq_widget.contract.settings import TrainConfig
    from dshq_widget.gyms.making import described
    from dshq_widget.policy.network import PolicySpec

    environment = described(f"gym:{GAME}")
    config = TrainConfig.from_values({**environment.spec.training, "frames": frames, "seed": seed})
    spec = PolicySpec.for_config(environment.spec, config)
    learner = GymPPO(spec, environment.actions, config.action_distribution, seed=seed, threads=1)
    games, parts = GymGames(environment, config), Parts()
    alone = _alone(games, 40)
    for owner, name, part in (
        (ale_py.env.AtariEnv, "step", "emulator"),
        (gymnasium.wrappers.AtariPreprocessing, "step", "frames"),
        (gymnasium.wrappers.FrameStackObservation, "step", "frames"),
        (StackedScreens, "follow", "frames"),
        (gymnasium.vector.SyncVectorEnv, "step", "copies"),
        (GymPPO, "look", "network"),
        (GymPPO, "update", "update"),
        (GymGames, "next", "rest"),
    ):
        parts.patch(owner, name, part)
    decisions, version = 0, 0
    begin, before = time.perf_counter(), time.process_time()
    while time.perf_counter() - begin < seconds:
        played = games.next(learner, config, version)
        learner.update(played.samples, played.units, Hyper.at(config, decisions))
        decisions, version = decisions + config.num_envs * config.rollout_length, version + 1
    spent, clock = time.process_time() - before, time.perf_counter() - begin
    games.close()
    return {
        "agent_steps": decisions,
        "seconds": clock,
        "processor_seconds": spent,
        "parts": {part: parts.seconds[part] / decisions for part in PARTS},
        "alone": alone,
        "threads": torch.get_num_threads(),
    }


def _alone(games: Any, steps: int) -> dict[str, float]:
    """Decisions of the games by random actions, with all that the learner would be shown."""
    actions = np.random.default_rng(0).integers(0, games.vector.single_action_space.n, (steps, games.count))
    begin, before = time.perf_counter(), time.process_time()
    for row in actions:
        obs, _, ended, cut, _ = games.vector.step(row)
        games.obs = games.sight.follow(obs, ended | cut)
    count = steps * games.count
    rates = count / (time.perf_counter() - begin), count / (time.process_time() - before)
    return dict(zip(("steps_per_second", "steps_per_processor_second"), rates, strict=True))


def rate(found: dict[str, Any], seconds: str = "processor_seconds") -> float:
    return float(found["agent_steps"] / found[seconds])


def summary(runs: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """A row for each who has learned: medians over the rounds, and what 40 million frames would take."""
    rows = []
    for who, found in runs.items():
        by_clock, by_processor = (
            statistics.median(rate(one, key) for one in found) for key in ("seconds", "processor_seconds")
        )
        row: dict[str, Any] = {"who": who, "decisions_per_second": by_clock}
        row["decisions_per_processor_second"] = by_processor
        row["processor_hours_of_40_million_frames"] = MILLIONS * 1e6 / 4 / by_processor / 3600
        if "parts" in found[0]:
            spent = {part: statistics.median(one["parts"][part] for one in found) for part in PARTS}
            row["share_of_parts"] = {part: value / sum(spent.values()) for part, value in spent.items()}
            row["milliseconds_of_a_decision"] = {part: 1e3 * value for part, value in spent.items()}
            alone = [one["alone"]["steps_per_processor_second"] for one in found]
            row["games_alone_per_processor_second"] = statistics.median(alone)
        rows.append(row)
    return rows


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--train", choices=FRAMES, help="print what one run says of itself, and nothing else")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=40.0, help="of one run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cleanrl-python")
    parser.add_argument("--cleanrl", metavar="CHECKOUT")
    parser.add_argument("--envpool-python")
    options = parser.parse_args()
    if options.train:
        print(json.dumps(train(options.train, options.seconds, options.seed)))
        return
    runs: dict[str, list[dict[str, Any]]] = {}
    envpool: list[dict[str, Any]] = []
    for seed in range(options.rounds):
        for frames in FRAMES:
            words = f"-m benchmarks.atari_rates --train {frames} --seed {seed} --seconds {options.seconds}".split()
            found = run(sys.executable, *words, one_core=True)
            runs.setdefault(f"ours, frames on the {frames}", []).append(found)
        if options.cleanrl_python and options.cleanrl:
            words = f"-m benchmarks.peers.cleanrl_atari rate --seed {seed} --seconds {options.seconds}".split()
            found = run(options.cleanrl_python, *words, "--checkout", options.cleanrl, one_core=True)
            runs.setdefault("CleanRL, ppo_atari.py", []).append(found)
        if options.envpool_python:
            words = ["-m", "benchmarks.peers.envpool", "steps", "--game", "breakout", "--seconds", "10"]
            envpool.append(run(options.envpool_python, *words, one_core=True))
        for who, found_so_far in runs.items():
            print(f"{who:32} {rate(found_so_far[-1]):8,.0f} decisions per second of the processor", flush=True)
    packages = {name: version_of(name) for name in ("gymnasium", "ale-py", "opencv-python-headless", "torch")}
    result = {"game": GAME, "packages": packages, "summary": summary(runs), "envpool_alone": envpool, "runs": runs}
    for row in result["summary"]:
        print(json.dumps(row))
    print(write("atari_rates", result))


if __name__ == "__main__":
    main()
