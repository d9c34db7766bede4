"""What the drills' defaults learn in so many agent steps by the rules of today, in files as `dshq train` keeps them.

`python -m benchmarks.skill` writes benchmarks/results/skill-*.json. Runs are counted in agent steps and not in seconds,
so that other work on the machine changes nothing but the waiting. Each file is judged by fresh matches with random play
and with the drill's script, or by fresh episodes where one plays alone; actions are sampled.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.learning.league.champion import keep_best
from dshq_widget.training.evaluation import evaluate
from dshq_widget.training.trainer import Trainer

STEPS = {"ball": 60e6, "sumo": 30e6, "approach": 3e6, "maze": 3e6, "lamp": 1e6}
"""Drill -> agent steps: those whose time limit became an end."""
SEEDS = (11, 12, 13)
MATCHES = 2000
KEPT = ("wins", "draws", "losses", "win_rate", "return_mean", "ci95", "solved")


def judged(name: str, seed: int, steps: int, folder: Path) -> dict[str, Any]:
    """Train one seed, keep the latest or the champion as `dshq train` does, and judge the file."""
    file = folder / f"{name}-{seed}.dshq"
    with Trainer(name, seed=seed, workers=0) as trainer:
        trainer.train_for(agent_steps=steps, progress=False)
        made, alone = trainer.metrics["agent_steps"], trainer.drill.spec.sides == 1
        trainer.save(file)
    keep_best(file, trainer.drill)
    rivals = [None] if alone else ["random", "scripted"]
    found = {rival or "alone": evaluate(file, against=rival, matches=MATCHES, seed=35) for rival in rivals}
    rows = {rival: {key: row[key] for key in KEPT if key in row} for rival, row in found.items()}
    return {"drill": name, "seed": seed, "agent_steps": made, **rows}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--drills", nargs="*", choices=tuple(STEPS), default=list(STEPS), metavar="NAME")
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.drills:
            for seed in options.seeds:
                rows.append(judged(name, seed, int(STEPS[name]), Path(folder)))
                print(rows[-1], flush=True)
                write("skill", {"matches": MATCHES, "rows": rows})  # a long run may be ended


if __name__ == "__main__":
    main()
