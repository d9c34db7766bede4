"""Trains the ladder of the Ball Drill, three policies to measure oneself against, and plays them against one another.

`python -m tools.ladder` writes `dshq_widget/drills/ladder/ball-*.dshq` and prints the table of their matches;
`--matches-only` prints it for the files as they are. The same seed for each, and a budget in agent steps: the schedules
end with it, and training ends with the first update after it.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from pathlib import Path

from dshq_widget.env.batch import compiled
from dshq_widget.policy import ladder
from dshq_widget.policy.evaluate import evaluate, opponent
from dshq_widget.training.trainer import Trainer
from tools.markdown import table

SEED = 7
BUDGETS = {"bronze": 4_000_000, "silver": 12_000_000, "gold": 60_000_000}
"""Agent steps of each rung."""
MATCHES = 2000


def train(rung: str, steps: int) -> Path:
    """Train one rung and write its policy, without the optimiser's state."""
    with Trainer("ball", seed=SEED, total_agent_steps=steps, workers=0) as trainer:
        trainer.start()
        trainer.wait(seconds=0, progress=False)
        while trainer.metrics.get("agent_steps", 0) < steps:
            if not trainer.wait(updates=int(trainer.metrics.get("updates", 0)) + 5, progress=False):
                raise RuntimeError(trainer.error or trainer.status_text)
        trainer.stop()
        trainer.join()
        path = ladder.path("ball", rung)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(trainer.policy_file())
        print(f"{path.name}: {trainer.latest_policy().step:,} agent steps, {path.stat().st_size:,} bytes")
        return path


def matches() -> Iterator[tuple[str, ...]]:
    """Every rung against the chaser and against the rungs below it."""
    drill = compiled("ball")
    names = ["chaser", *ladder.RUNGS]
    for below, above in sorted(itertools.combinations(names, 2), key=lambda pair: names.index(pair[1])):
        one, other = (
            opponent(name if name == "chaser" else str(ladder.path("ball", name)), drill) for name in (above, below)
        )
        found = evaluate(drill, one, other, MATCHES)
        counts = (str(found[key]) for key in ("wins", "draws", "losses"))
        yield f"{above} against {below}", *counts, f"{100 * found['win_rate']:.1f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--matches-only", action="store_true", help="train nothing")
    if not parser.parse_args().matches_only:
        for rung, steps in BUDGETS.items():
            train(rung, steps)
    print(table(("match", "won", "drawn", "lost", "of decided matches"), matches()))


if __name__ == "__main__":
    main()
