"""After how many agent steps the Ball Drill's policy beats each target, by its defaults: for the page's forecast.

    python -m benchmarks.targets [--seeds 0 1] [--steps 120000000]

The median over the seeds belongs into `STEPS` of dshq_widget/policy/ladder.py.
"""

from __future__ import annotations

import json
import time

from benchmarks.machine import write
from benchmarks.running import parser_of
from dshq_widget.policy import ladder
from dshq_widget.training.trainer import Trainer


def run(seed: int, steps: float) -> dict[str, object]:
    """One run: agent steps at which each target was beaten, as far as it came."""
    found: dict[str, float] = {}
    with Trainer("ball", seed=seed) as trainer:
        targets = ladder.targets(trainer.drill.spec)
        trainer.start()
        while trainer.metrics.get("agent_steps", 0) < steps and len(found) < len(targets):
            if trainer.status == "error":
                raise RuntimeError(trainer.error)
            row = trainer.metrics
            for target in targets:
                if target.metric in row:
                    found.setdefault(target.name, row["agent_steps"])
            time.sleep(0.05)
        row = trainer.metrics
        return {"seed": seed, "agent_steps": found, "reached": row["agent_steps"], "seconds": row["seconds"]}


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--steps", type=float, default=120e6)
    options = parser.parse_args()
    runs = []
    for seed in options.seeds:
        runs.append(run(seed, options.steps))
        print(json.dumps(runs[-1]), flush=True)
    write("targets", {"runs": runs})


if __name__ == "__main__":
    main()
