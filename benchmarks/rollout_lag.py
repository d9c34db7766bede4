"""What old samples cost: agent steps to a skill if the games are played with the weights of some versions ago.

`python -m benchmarks.rollout_lag` writes benchmarks/results/rollout_lag-*.json. One process plays and learns in turn,
as a run without rollout processes does, but plays with the weights of `lag` versions ago. Nothing else differs, and
agent steps do not depend on the machine's load. Once the learner corrects such samples (dshq_kernels/network/update.py,
`_correct_lag`), once it takes them as they are. A run with one rollout process has a lag of 1, at times 2. So the
factor of the steps says how many times as fast rollout processes must be to pay (algorithms/ppo/tuning.py, ADVANTAGE).
`--nodes N` makes each update as large as that of a run on a Ray cluster of N nodes: N times the games, minibatches as
they are. `--half` sends observations through float16, as that run does.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.algorithms.ppo.drill_run import DrillPPO
from dshq_widget.algorithms.ppo.learners.learner import Learner
from dshq_widget.contract.settings import TrainConfig, of_drill
from dshq_widget.drill.compiled import CompiledDrill
from dshq_widget.env.batch import compiled
from dshq_widget.learning.evaluator import Evaluator
from dshq_widget.learning.games import OwnGames, Player
from dshq_widget.learning.parts import Experience
from dshq_widget.policy.network import PolicySpec
from dshq_widget.runtime.memory import SharedBlock
from dshq_widget.runtime.slots import WeightSlots

LAGS = (0, 1, 2, 4)
DRILLS = {"ball": 20e6, "sumo": 10e6, "approach": 4e6, "cartpole": 2e6}
"""Name -> most agent steps of a run."""
SHARE = 0.5
"""Skill asked in a drill of two sides: share of all matches with the first baseline that are won. A drill of one side
has its own target.
"""
EVALUATIONS = 40
"""Evaluations in the most agent steps."""


class Silent:
    """A channel to nobody."""

    closed = False

    def send(self, message: Mapping[str, Any]) -> None:
        if message["type"] in ("WARNING", "ERROR"):
            print(message)

    def poll(self, timeout: float = 0.0) -> list[dict[str, Any]]:
        return []


class LateGames(OwnGames):
    """The learner's own games, played with the weights of `lag` versions ago."""

    def __init__(
        self, drill: CompiledDrill, config: TrainConfig, threads: int, lag: int, corrected: bool, half: bool
    ) -> None:
        super().__init__(drill, config, threads)
        self._corrected, self._half = corrected, half
        self._kept: deque[np.ndarray] = deque(maxlen=lag + 1)

    def next(self, learner: Player, config: TrainConfig, version: int) -> Experience:
        self._kept.append(learner.blob())
        found = super().next(self, config, version)
        found.lag = found.age = len(self._kept) - 1 if self._corrected else 0
        if self._half:
            halves = found.samples.obs.astype(np.float16)
            found.samples = dataclasses.replace(found.samples, obs=halves.astype(np.float32))
        return found

    def blob(self) -> np.ndarray:
        """The weights that play."""
        return self._kept[0]


class LateRun(DrillPPO):
    """The drill's own run, but for its games."""

    lag, corrected, half = 0, True, False

    def _make_source(self, learner: Learner, blocks: Mapping[str, SharedBlock]) -> LateGames:
        return LateGames(self.drill, self.config, self.threads, self.lag, self.corrected, self.half)


def learn(
    name: str,
    lag: int,
    seed: int,
    most: float,
    hyper: Mapping[str, Any],
    corrected: bool = True,
    nodes: int = 1,
    half: bool = False,
) -> dict[str, Any]:
    """Train until the skill is there, or for `most` agent steps."""
    drill = compiled(name)
    config = of_drill(drill.spec).replace({"seed": seed, "workers": 0, "evaluate_seconds": 86_400, **hyper})
    config = config.replace({"num_envs": nodes * config.num_envs})
    spec = PolicySpec.for_config(drill.spec, config)
    block = SharedBlock.create(WeightSlots.nbytes_for(spec.floats))
    WeightSlots.create(block, spec.floats)
    machine = {"cpu": 1.0, "memory": 8e9, "gentle": False}
    job = {"drill": drill.to_json(), "hyper": config.to_json(), "threads": 1, "machine": machine}
    ppo = LateRun(Silent(), job)  # type: ignore[arg-type]  # as much of a channel as a run needs
    ppo.lag, ppo.corrected, ppo.half = lag, corrected, half
    run = ppo.compose({"weights": block})
    evaluator = Evaluator(drill, spec, seed)
    for companion in run.companions:
        companion.begin(run)
    curve: list[tuple[int, float]] = []
    due = most / EVALUATIONS
    while run.agent_steps < most and not _skilled(evaluator):
        experience = run.source.next(run.learner.player, run.config, run.version)
        assert experience is not None
        learned = run.learn(experience)
        for companion in run.companions:
            companion.after_update(run, experience, learned)
        if run.agent_steps >= due * (len(curve) + 1):
            evaluator.play(run.learner.blob())
            curve.append((run.agent_steps, _skill(evaluator)))
    block.close()
    return {"skilled": _skilled(evaluator), "agent_steps": run.agent_steps, "updates": run.updates, "curve": curve}


def _skill(evaluator: Evaluator) -> float:
    return evaluator.metrics["evaluated_return" if evaluator.alone else "win_share"]


def _skilled(evaluator: Evaluator) -> bool:
    return evaluator.solved if evaluator.alone else evaluator.metrics.get("win_share", 0.0) >= SHARE


def main() -> None:
    """Measure and write."""
    parser = parser_of(__doc__)
    parser.add_argument("--drills", nargs="+", default=list(DRILLS))
    parser.add_argument("--lags", nargs="+", type=int, default=LAGS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--label", default="", help="a part of the result's name")
    parser.add_argument("--learning-rate", type=float, help="instead of the drill's own")
    parser.add_argument("--half", action="store_true", help="observations as float16")
    parser.add_argument("--nodes", type=int, default=1, help="whose games make an update (default 1)")
    options = parser.parse_args()
    hyper = {} if options.learning_rate is None else {"learning_rate": options.learning_rate}
    rows: list[dict[str, Any]] = []
    for name, lag, corrected in itertools.product(options.drills, options.lags, (True, False)):
        if lag == 0 and not corrected:
            continue
        runs = [
            learn(name, lag, seed, DRILLS[name], hyper, corrected, options.nodes, options.half)
            for seed in range(options.seeds)
        ]
        median = statistics.median(run["agent_steps"] for run in runs)
        rows.append({"drill": name, "lag": lag, "corrected": corrected, "agent_steps": median, "runs": runs})
        skilled, last = sum(run["skilled"] for run in runs), [round(run["curve"][-1][1], 3) for run in runs]
        how = "corrected" if corrected else "as it is"
        print(
            f"{name:10} lag {lag} {how} {skilled}/{len(runs)} skilled, median {median:>12,.0f} steps, last {last}",
            flush=True,
        )
    result = {"most_agent_steps": DRILLS, "hyper": hyper, "nodes": options.nodes, "half": options.half, "rows": rows}
    print(write("rollout_lag" + f"_{options.label}" * bool(options.label), result))


if __name__ == "__main__":
    main()
