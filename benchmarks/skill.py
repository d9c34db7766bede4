"""What the drills' defaults learn in so many agent steps by the rules of today, in files as `dshq train` keeps them.

`python -m benchmarks.skill` writes benchmarks/results/skill-*.json. Runs are counted in agent steps and not in seconds,
so that other work on the machine changes nothing but the waiting. `--seconds 30` counts seconds on all processors
instead, as a person does, in `skill_seconds-*.json`; `--without chaser` takes the script out of training. Each file is
judged by fresh matches with random play and with the drill's script, or by fresh episodes where one plays alone;
actions are sampled.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.machine import write
from benchmarks.running import parser_of
from benchmarks.time_to_skill import NO_CHASER
from dshq_widget.learning.league.champion import keep_best
from dshq_widget.training.evaluation import evaluate
from dshq_widget.training.trainer import Trainer

STEPS = {"ball": 60_000_000, "sumo": 30_000_000, "approach": 3_000_000, "maze": 3_000_000, "lamp": 1_000_000}
"""Drill -> agent steps: those whose time limit became an end."""
SEEDS = (11, 12, 13)
MATCHES = 2000
KEPT = ("wins", "draws", "losses", "win_rate", "return_mean", "ci95", "solved")


def judged(name: str, seed: int, limit: dict[str, Any], hyper: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Train one seed up to a `limit` of `Trainer.train_for`, keep the latest or the champion as `dshq train` does, and
    judge the file.
    """
    file = folder / f"{name}-{seed}.dshq"
    with Trainer(name, seed=seed, **hyper) as trainer:
        trainer.train_for(**limit, progress=False)
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
    parser.add_argument("--seconds", type=float, help="train so long, instead of so many agent steps")
    parser.add_argument("--without", choices=("chaser",), help="an opponent that training does without")
    options = parser.parse_args()
    hyper: dict[str, Any] = {} if options.seconds else {"workers": 0}
    if options.without:
        hyper |= NO_CHASER
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.drills:
            for seed in options.seeds:
                limit = {"seconds": options.seconds} if options.seconds else {"agent_steps": STEPS[name]}
                rows.append({**limit, "without": options.without, **judged(name, seed, limit, hyper, Path(folder))})
                print(rows[-1], flush=True)
                write("skill_seconds" if options.seconds else "skill", {"matches": MATCHES, "rows": rows})


if __name__ == "__main__":
    main()
