"""Two sides (Ball Drill, Sumo, Chase): a policy learns against itself, and is measured against others.

python docs/examples/self_play.py sumo --seconds 30 --out bot.dshq
"""

import argparse

from dshq_widget import Trainer, evaluate


def learn(drill: str, out: str, matches: int = 500, settings: dict | None = None, **budget: float) -> dict[str, dict]:
    """Train for a budget (`seconds`, `agent_steps` or `updates`) and save; returns the results by opponent."""
    with Trainer(drill, **settings or {}) as trainer:
        trainer.train_for(**budget)
        trainer.save(out)
    return {rival: evaluate(out, against=rival, matches=matches) for rival in ("random", "scripted")}


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("drill", nargs="?", default="ball")
    options.add_argument("--seconds", type=float, default=30)
    options.add_argument("--out", default="bot.dshq")
    given = options.parse_args()
    for rival, result in learn(given.drill, given.out, seconds=given.seconds).items():
        low, high = result["ci95"]
        print(f"against {rival}: {result['win_rate']:.1%} of decided matches won ({low:.1%} to {high:.1%})")
