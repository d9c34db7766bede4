"""Networks with a memory: how fast they are played and learned, beside torch's LSTM by autograd on the same samples and
beside a network without a memory, and what the drill Lamp makes of both.

`python -m benchmarks.memory` writes benchmarks/results/memory-*.json. **Rates** are of one thread, rounds in turn: the
Ball Drill and Lamp, a rollout and an update with a memory of 32 units behind the hidden layers, the same without, and
the update in torch (`RecurrentPPO`), which learns the same gradient (tests/algorithms/ppo/test_recurrent.py). **Lamp**:
agent steps and seconds of training until 95 % of the answers are right, three seeds; without a memory what is right
after as many steps as ten times the slowest of them took. Targets (stated before measuring): the update five times
torch's rate; a memory costs play and update together no more than a factor of four; Lamp within 100,000 agent steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.machine import write
from benchmarks.running import parser_of, spread
from dshq_widget import Trainer
from dshq_widget.algorithms.ppo.learners.fused import FusedPPO
from dshq_widget.algorithms.ppo.learners.learner import Hyper
from dshq_widget.algorithms.ppo.recurrent.learner import RecurrentPPO
from dshq_widget.algorithms.ppo.recurrent.rows import by_sequence
from dshq_widget.contract.settings import of_drill
from dshq_widget.env.batch import compiled
from dshq_widget.learning.games import OwnGames
from dshq_widget.policy.network import PolicySpec

UNITS = 32
DRILLS = ("ball", "lamp")


def seconds(work: Callable[[], object], least: float) -> float:
    """Of one call, the mean of as many as take `least` seconds together."""
    work()
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < least:
        work()
        count += 1
    return (time.perf_counter() - begin) / count


def parts(name: str, memory: int, least: float, torch: bool) -> dict[str, float]:
    """Agent steps/s of play and of learning, and of learning in torch."""
    drill = compiled(name)
    config = of_drill(drill.spec).replace({"memory": memory})
    spec, hyper = PolicySpec.for_config(drill.spec, config), Hyper.at(config, 0)
    learner, games = FusedPPO(spec, threads=1), OwnGames(drill, config, 1)
    for _ in range(3):
        played = games.next(learner, config, 0)
    steps = played.agent_steps
    found = {
        "play": steps / seconds(lambda: games.next(learner, config, 0), least),
        "learn": steps / seconds(lambda: learner.update(played.samples, played.units, hyper), least),
    }
    if torch:
        rows: Any = by_sequence(played.samples, played.units)
        reference = RecurrentPPO(spec, threads=1)
        everything = np.arange(len(rows.action))
        found["learn_in_torch"] = steps / seconds(lambda: reference.update(rows, everything, hyper), least)
    return found


def rates(rounds: int, least: float) -> list[dict[str, Any]]:
    """A row for each drill, with a memory and without."""
    rows = []
    for name in DRILLS:
        measured: dict[int, list[dict[str, float]]] = {UNITS: [], 0: []}
        for _ in range(rounds):
            for memory, runs in measured.items():
                runs.append(parts(name, memory, least, torch=memory > 0))
        for memory, runs in measured.items():
            row: dict[str, Any] = {"drill": name, "memory": memory}
            for key in runs[0]:
                row[key] = spread([run[key] for run in runs])
            rows.append(row)
            shown = ", ".join(f"{key} {row[key]['median']:,.0f}" for key in runs[0])
            print(f"{name}, memory {memory}: {shown} agent steps/s", flush=True)
    return rows


def lamp(seeds: list[int]) -> list[dict[str, Any]]:
    """What is learned with the drill's own settings, and without a memory."""
    rows = []
    for seed in seeds:
        with Trainer("lamp", seed=seed) as trainer:
            trainer.train_for(seconds=300, until_solved=True, progress=False)
            now = trainer.metrics
            rows.append({"memory": UNITS, "seed": seed, "agent_steps": now["agent_steps"], "seconds": now["seconds"]})
            rows[-1] |= {"solved": bool(now["solved"]), "evaluated_return": now["evaluated_return"]}
    most = int(10 * max(row["agent_steps"] for row in rows))
    for seed in seeds:
        with Trainer("lamp", seed=seed, memory=0) as trainer:
            trainer.train_for(agent_steps=most, progress=False)
            now = trainer.metrics
            rows.append({"memory": 0, "seed": seed, "agent_steps": now["agent_steps"], "seconds": now["seconds"]})
            rows[-1]["evaluated_return"] = now["evaluated_return"]
    for row in rows:
        print(row, flush=True)
    return rows


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    options = parser.parse_args()
    print(write("memory", {"rates": rates(options.rounds, options.seconds), "lamp": lamp(options.seeds)}))


if __name__ == "__main__":
    main()
